import { Fault } from "@rouse/contract";
import type { DaemonFile } from "../../home/open-home.ts";
import { version } from "../../version.ts";
import { connect, isRunning, readDaemonFile } from "../find-daemon.ts";
import type { Surroundings } from "../surroundings.ts";
import { type Check, fail, ok, warn } from "./check.ts";

export interface DaemonSeen {
  readonly check: Check;
  readonly answers: boolean;
  readonly left: DaemonFile | null;
}

const name = "daemon";

/** Is it running, is it ours, is it well? Not running is no fault of the machine. */
export async function seeDaemon(here: Surroundings): Promise<DaemonSeen> {
  const left = await readDaemonFile(here.home).catch(() => null);
  try {
    const status = await (await connect(here)).status();
    return { check: judge(status.version, status.status), answers: true, left };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { check: explain(error, left, here), answers: false, left };
  }
}

function judge(theirs: string, status: string): Check {
  if (theirs !== version) {
    return warn(name, `version ${theirs} is running, this is ${version}`, "stop it and start it again with `rouse up`");
  }
  if (status === "store-unavailable")
    return fail(name, "runs, but cannot save anything", "look at its log and at the disk");
  if (status === "frozen")
    return warn(name, "runs, but is frozen: nothing is done to any agent", "`rouse thaw` when you are done");
  if (status === "on-hold")
    return warn(name, "runs, but holds back verdicts that rest on silence", "`rouse health` says why");
  return ok(name, `version ${theirs} is running`);
}

function explain(fault: Fault, left: DaemonFile | null, here: Surroundings): Check {
  if (fault.code !== "daemon-unreachable") return fail(name, fault.message, "see above");
  if (here.environment.ROUSE_URL) return fail(name, fault.message, "is ROUSE_URL right?");
  if (left === null) return warn(name, "not running", "start it with `rouse up -d`");
  if (isRunning(left)) {
    return fail(
      name,
      `process ${left.pid} is there, but: ${fault.message}`,
      "look at its log; stop it and start it again",
    );
  }
  return warn(
    name,
    `process ${left.pid} is gone and did not say goodbye`,
    "start it again with `rouse up`; it goes on where it stopped",
  );
}
