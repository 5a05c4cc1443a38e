import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EventType, SavedEvent } from "@rouse/contract";
import { connectRouse, type RouseClient } from "@rouse/sdk";
import { afterAll, beforeAll, expect } from "vitest";
import { cleanUpKept, keepForAll, makeFolder } from "./clean-up.ts";
import { type Ended, program, type Running, runRouse, startProgram } from "./run-rouse.ts";
import { until } from "./until.ts";

export interface DaemonPlan {
  /** A new folder when not given. */
  readonly home?: string;
  /** The text of config.yaml. */
  readonly config?: string;
  readonly args?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The Node that runs it; ours when not given. */
  readonly node?: string;
  /** How many files it may have open; as many as we when not given. */
  readonly openFiles?: number;
}

export interface Daemon {
  readonly home: string;
  readonly url: string;
  readonly token: string;
  readonly process: Running;
  /** The library a program would use to talk to it. */
  readonly rouse: RouseClient;
  events(...types: EventType[]): Promise<SavedEvent[]>;
  cli(...words: string[]): Promise<Ended>;
  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<Ended>;
}

/** `rouse up` on any free port, up and answering. It ends with the test. */
export async function startDaemon(plan: DaemonPlan = {}): Promise<Daemon> {
  const home = plan.home ?? join(makeFolder(), "home");
  const { environment = {} } = plan;
  if (plan.config !== undefined) {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    writeFileSync(join(home, "config.yaml"), plan.config);
  }
  const words = ["up", "--port", "0", ...(plan.args ?? [])];
  const running =
    plan.openFiles === undefined
      ? startProgram(plan.node ?? process.execPath, [program, ...words], { home, environment })
      : startProgram(
          "sh",
          ["-c", `ulimit -n ${plan.openFiles}; exec "$@"`, "sh", process.execPath, program, ...words],
          { home, environment },
        );
  let ended: Ended | undefined;
  void running.ended.then((end) => {
    ended = end;
  });
  const url = await until("the daemon says where it listens", () => {
    if (ended !== undefined) throw new Error(`it ended with ${ended.code}: ${ended.stderr}`);
    return /is watching on (\S+)/.exec(running.stdout())?.[1];
  });
  const token = readFileSync(join(home, "token"), "utf8").trim();
  const rouse = connectRouse({ url, token, timeout: 60_000 });
  return {
    home,
    url,
    token,
    process: running,
    rouse,
    events: (...types) => rouse.events({ after: 0, limit: 1000, ...(types.length > 0 ? { types } : {}) }),
    cli: (...words) => runRouse(words, { home, environment }),
    end(signal) {
      running.child.kill(signal);
      return running.ended;
    },
  };
}

/**
 * One daemon for all tests of a file that only need one to be there. Tests of held agents need a daemon of their own:
 * all processes of a home end with the test.
 */
export function shareDaemon(): () => Daemon {
  let shared: Daemon | undefined;
  beforeAll(async () => {
    shared = await keepForAll(startDaemon);
  });
  afterAll(cleanUpKept);
  return () => shared ?? expect.fail("a shared daemon is there only during a test");
}

/** A beat every second. One more second of grace keeps agents on a busy machine from being taken for silent. */
export const quickBeats = `
preset: fleet
health_monitoring:
  heartbeat: { interval_seconds: 1, idle_interval_seconds: 1, grace_seconds: 1 }
`;
