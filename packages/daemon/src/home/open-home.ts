import { chmodSync, existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeWhole } from "@rouse/holder";
import { makeSecret, orUnusable, readOrMakeSecret } from "./secret-files.ts";

/** By whom a daemon was started: in somebody's terminal, by `rouse up -d`, or by the service manager. */
export const starters = ["terminal", "detached", "service"] as const;
export type Starter = (typeof starters)[number];

/** What a running daemon leaves in its data folder so that the CLI finds it. */
export interface DaemonFile {
  readonly pid: number;
  /** When the kernel started the process, to tell it from a later one with its pid; unknown without /proc. */
  readonly startTicks: number | null;
  readonly url: string;
  readonly startedAt: string;
  readonly version: string;
  readonly startedBy: Starter;
  /** The file it logs to; `null` when it logs to its terminal or the journal. */
  readonly log: string | null;
  /** The options it was started with; files with their whole path. */
  readonly asked: AskedOfDaemon;
  readonly preset: string | null;
  /** Where its settings come from, as it read them last. */
  readonly sources: readonly string[];
}

export interface AskedOfDaemon {
  readonly host: string | null;
  readonly config: string | null;
  readonly tlsCert: string | null;
  /** Of its log file; `null` where there is none, or the daemon is of an earlier version. */
  readonly logMaxSize: number | null;
  readonly logKeep: number | null;
}

export const logFileIn = (home: string): string => join(home, "rouse.log");

interface Home {
  readonly folder: string;
  readonly token: string;
  announce(daemon: DaemonFile): void;
  withdraw(): void;
}

const inFolder = <T>(folder: string, use: () => T): T =>
  orUnusable(`data folder ${folder}`, use, "; make it writable or set ROUSE_HOME to another");

/** The data folder: made on first use, for its owner only, with a token nobody else can read. */
export function openHome(folder: string): Home {
  const daemonFile = join(folder, "daemon.json");
  return inFolder(folder, () => {
    makeFolder(folder);
    if ((statSync(folder).mode & 0o077) !== 0) chmodSync(folder, 0o700);
    return {
      folder,
      token: readToken(join(folder, "token")),
      announce: (daemon) => inFolder(folder, () => writeWhole(daemonFile, `${JSON.stringify(daemon, null, 2)}\n`)),
      withdraw: () => rmSync(daemonFile, { force: true }),
    };
  });
}

/** Makes one level after the other: below /proc, where nothing can be made, Node's recursive mkdir never returns. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  const parent = dirname(folder);
  if (parent !== folder) makeFolder(parent);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Two daemons that start at once may make it at once.
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  }
}

/** A new token cuts off running agents, so Rouse never replaces one by itself. */
const readToken = (file: string): string =>
  readOrMakeSecret(
    file,
    `the token in ${file} is not usable; remove the file and a new one is made`,
    "whoever did owns this Rouse. `rouse token rotate` makes a new one; agents that run must be started again",
  );

/** Replaces a token that others may know. Tokens of running agents were made from the old one, and end with it. */
export const rotateToken = (folder: string): void =>
  inFolder(folder, () => {
    makeFolder(folder);
    makeSecret(join(folder, "token"));
  });
