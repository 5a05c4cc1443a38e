import { readdir, readFile, readlink } from "node:fs/promises";
import { createServer } from "node:net";
import { Fault, type SystemStatus } from "@rouse/contract";
import type { DaemonFile } from "../../home/open-home.ts";
import { version } from "../../version.ts";
import { choosePort } from "../choose-port.ts";
import { connect, isRunning, readDaemonFile } from "../find-daemon.ts";
import type { Surroundings } from "../surroundings.ts";
import { type Check, fail, ok, warn } from "./check.ts";

interface DaemonSeen {
  readonly check: Check;
  readonly answers: boolean;
  readonly left: DaemonFile | null;
}

const name = "daemon";

/** Checks whether the daemon runs and is well. A daemon that does not run is a warning, not a failure. */
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

type Status = SystemStatus["status"];

/** What keeps a running daemon from acting, and what to do about it. */
export const troubles: Readonly<Partial<Record<Status, readonly [what: string, advice: string]>>> = {
  "store-unavailable": ["cannot save anything, so nobody is judged", "look at its log and at the disk"],
  frozen: ["is frozen: nothing is done to any agent", "`rouse thaw` when you are done"],
  "on-hold": ["holds back verdicts that rest on silence", "`rouse health` says why"],
};

function judge(theirs: string, status: Status): Check {
  if (theirs !== version) {
    return warn(name, `version ${theirs} is running, this is ${version}`, "stop it and start it again with `rouse up`");
  }
  const trouble = troubles[status];
  if (trouble === undefined) return ok(name, `version ${theirs} is running`);
  return (status === "store-unavailable" ? fail : warn)(name, `runs, but ${trouble[0]}`, trouble[1]);
}

function explain(fault: Fault, left: DaemonFile | null, here: Surroundings): Check {
  if (fault.code !== "daemon-unreachable") return fail(name, fault.message, "see above");
  if (here.environment.ROUSE_URL) return fail(name, fault.message, "is ROUSE_URL right?");
  if (left === null) return warn(name, "not running", "start it with `rouse up -d`");
  if (isRunning(left)) {
    const advice = "look at its log; stop it and start it again";
    return fail(name, `process ${left.pid} is there, but: ${fault.message}`, advice);
  }
  const advice = "start it again with `rouse up`; it goes on where it stopped";
  return warn(name, `process ${left.pid} is gone and did not say goodbye`, advice);
}

/** Checks whether `rouse up` could listen on its port. */
export async function checkPort({ answers, left }: DaemonSeen, environment: NodeJS.ProcessEnv): Promise<Check> {
  const name = "port";
  const url = left !== null && URL.canParse(left.url) ? new URL(left.url) : null;
  if (answers && url !== null) return ok(name, `the daemon listens on ${url.host}`);
  const wanted = readWanted(environment);
  if (wanted instanceof Fault) return fail(name, wanted.message, "see above");
  const port = Number(url?.port || wanted);
  const code = await tryToListen(port);
  if (code === null) return ok(name, `${port} is free`);
  if (code !== "EADDRINUSE") return fail(name, `${port} cannot be used (${code})`, "start with another --port");
  const holder = await findListener(port);
  const by = holder === null ? "" : ` by ${holder}`;
  return fail(name, `${port} is taken${by}`, "stop that, or start with another --port");
}

function readWanted(environment: NodeJS.ProcessEnv): number | Fault {
  try {
    return choosePort(undefined, environment);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

function tryToListen(port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(null)));
  });
}

const listening = "0A";

/** Who listens on a TCP port, as "process 4711 (node)"; `null` when not on Linux, or for another user's process. */
export async function findListener(port: number): Promise<string | null> {
  const inodes = await socketsOn(port);
  if (inodes.size === 0) return null;
  for (const pid of (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry))) {
    if (await holdsOneOf(inodes, pid)) return `process ${pid} (${await nameOf(pid)})`;
  }
  return null;
}

/** The lines of /proc/net/tcp: number, local address:port in hex, remote, state, …, inode in the tenth column. */
async function socketsOn(port: number): Promise<Set<string>> {
  const tables = await Promise.all(
    ["tcp", "tcp6"].map((table) => readFile(`/proc/net/${table}`, "utf8").catch(() => "")),
  );
  const rows = tables.flatMap((table) => table.split("\n").slice(1)).map((line) => line.trim().split(/\s+/));
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return new Set(
    rows.filter((row) => row[1]?.endsWith(wanted) && row[3] === listening).map((row) => `socket:[${row[9]}]`),
  );
}

async function holdsOneOf(inodes: ReadonlySet<string>, pid: string): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  const files = await readdir(folder).catch(() => []);
  const targets = await Promise.all(files.map((file) => readlink(`${folder}/${file}`).catch(() => "")));
  return targets.some((target) => inodes.has(target));
}

async function nameOf(pid: string): Promise<string> {
  return (await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "?")).trim();
}
