import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { Fault } from "@rouse/contract";
import { refuseIfOthersCanRead } from "./refuse-if-others-can-read.ts";

/** By whom a daemon was started: in somebody's terminal, by `rouse up -d`, or by the service manager. */
export const starters = ["terminal", "detached", "service"] as const;
export type Starter = (typeof starters)[number];

/** What a running daemon leaves in its data folder so that the CLI finds it. */
export interface DaemonFile {
  readonly pid: number;
  /** When the kernel started that process, so that another one with its pid is not taken for it; unknown without /proc. */
  readonly startTicks: number | null;
  readonly url: string;
  readonly startedAt: string;
  readonly version: string;
  readonly startedBy: Starter;
  /** The file it logs to; `null` when that is its terminal or the journal. */
  readonly log: string | null;
  /** What it was told when it was started; files with their whole path. */
  readonly asked: AskedOfDaemon;
  readonly preset: string | null;
  /** Where its settings come from, as it read them last. */
  readonly sources: readonly string[];
}

export interface AskedOfDaemon {
  readonly host: string | null;
  readonly config: string | null;
  readonly tlsCert: string | null;
  /** Of its own log; `null` where it has none, or is of an earlier version. */
  readonly logMaxSize: number | null;
  readonly logKeep: number | null;
}

export const logFileIn = (home: string): string => join(home, "rouse.log");

export interface Home {
  readonly folder: string;
  readonly token: string;
  announce(daemon: DaemonFile): void;
  withdraw(): void;
}

/** The data folder: made on first use, for its owner only, with a token nobody else can read. */
export function openHome(folder: string): Home {
  const inFolder = <T>(use: () => T): T => {
    try {
      return use();
    } catch (error) {
      throw nameFault(folder, error);
    }
  };
  const daemonFile = join(folder, "daemon.json");
  return inFolder(() => {
    makeFolder(folder);
    if ((statSync(folder).mode & 0o077) !== 0) chmodSync(folder, 0o700);
    return {
      folder,
      token: readOrMakeToken(join(folder, "token")),
      announce: (daemon) => inFolder(() => writePrivately(daemonFile, `${JSON.stringify(daemon, null, 2)}\n`)),
      withdraw: () => rmSync(daemonFile, { force: true }),
    };
  });
}

/** Level by level: where nothing can be made (below /proc), node's own recursive mkdir never comes back. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  const parent = dirname(folder);
  if (parent !== folder) makeFolder(parent);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Two that are started at once make it at once.
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  }
}

function nameFault(folder: string, error: unknown): Fault {
  if (error instanceof Fault) return error;
  const reason = (error as { code?: string }).code ?? String(error);
  return new Fault(
    "data-folder-unusable",
    `cannot use the data folder ${folder} (${reason}); make it writable or set ROUSE_HOME to another`,
    { cause: error },
  );
}

function readOrMakeToken(file: string): string {
  const existing = readIfThere(file);
  if (existing !== null) {
    const token = existing.trim();
    if (!/^[\x21-\x7e]{16,256}$/.test(token)) {
      throw new Fault(
        "data-folder-unusable",
        `the token in ${file} is not usable; remove the file and a new one is made`,
      );
    }
    // A new one cuts off running agents, so that is not ours to choose.
    refuseIfOthersCanRead(
      file,
      "whoever did owns this Rouse. `rouse token rotate` makes a new one; agents that run must be started again",
    );
    return token;
  }
  return makeToken(file);
}

function makeToken(file: string): string {
  const token = randomBytes(32).toString("base64url");
  writePrivately(file, `${token}\n`);
  return token;
}

/** A new token in place of one that others may know. Tokens of running agents were made from the old one, and end with it. */
export function rotateToken(folder: string): void {
  try {
    makeFolder(folder);
    makeToken(join(folder, "token"));
  } catch (error) {
    throw nameFault(folder, error);
  }
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return null;
    throw error;
  }
}

/** Never readable by others, not even for a moment, and never half-written. */
function writePrivately(file: string, text: string): void {
  const temporary = `${file}.${process.pid}.new`;
  try {
    const handle = openSync(temporary, "w", 0o600);
    try {
      writeFileSync(handle, text);
    } finally {
      closeSync(handle);
    }
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
