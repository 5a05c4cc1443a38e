import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Fault } from "@rouse/contract";
import { attempt } from "./attempt.ts";
import { areSame, identityOf, isSame as isStillThere } from "./processes/read-processes.ts";
import { holderFiles, lastLifeFile } from "./protocol/holder-files.ts";
import type { HolderFile, ProcessId, Spec } from "./protocol/spec.ts";
import { writeBeside, writeWhole } from "./write-whole.ts";

/** A name that is ours: one living holder per agent. */
export interface Claim {
  readonly file: HolderFile;
  /** Writes more about this holder into the file, for instance that the agent runs by now. */
  amend(changes: Partial<Omit<HolderFile, "agentId" | "incarnation" | "holder">>): HolderFile;
  /** May be called twice, and after somebody else took over. */
  release(): void;
}

/** What this process claims a name with before its agent runs. */
export const ourClaim = ({ agentId, incarnation }: Spec, more: Partial<HolderFile> = {}): HolderFile => ({
  agentId,
  incarnation,
  holder: identityOf(process.pid) ?? { pid: process.pid, startTicks: 0 },
  agent: null,
  socket: "",
  tier: "marked",
  cgroup: null,
  mark: "",
  startedAt: Date.now(),
  store: null,
  ...more,
});

/**
 * Takes the name for the process in `wanted.holder`, or throws `name-taken`. `from` is the process that took the name
 * on behalf of this one and hands it over.
 */
export function claimName(home: string, wanted: HolderFile, from: ProcessId | null = null): Claim {
  const { folder, holder: file } = holderFiles(home, wanted.agentId);
  try {
    makePrivate(dirname(folder));
    makePrivate(folder);
    const before = from === null ? null : readClaim(file);
    if (before !== null && from !== null && areSame(before.holder, from)) writeWhole(file, print(wanted));
    else take(file, wanted);
  } catch (error) {
    throw nameFault(folder, error);
  }
  return ours(file, wanted);
}

/** A holder stays for a moment after its agent has ended, until a monitor knows: its name will be free soon. */
const partingMs = 5000;

export async function claimWhenFree(home: string, wanted: HolderFile, from: ProcessId | null = null): Promise<Claim> {
  const until = performance.now() + partingMs;
  for (;;) {
    try {
      return claimName(home, wanted, from);
    } catch (error) {
      const { agent } = readClaim(holderFiles(home, wanted.agentId).holder) ?? { agent: null };
      const leaving = agent !== null && agent !== undefined && !isStillThere(agent);
      if (!leaving || performance.now() > until || !(error instanceof Fault && error.code === "name-taken"))
        throw error;
    }
    await pause(50);
  }
}

/** The spec of the last life has its number; of an agent that was removed, a file of its own. */
export function nextIncarnation(home: string, agentId: string): number {
  const { incarnation } = readJson(holderFiles(home, agentId).spec) ?? {};
  const removed = Number(attempt(() => readFileSync(lastLifeFile(home, agentId), "utf8")) ?? 0);
  return Math.max(...[incarnation, removed].map((last) => (Number.isSafeInteger(last) ? (last as number) : 0))) + 1;
}

function ours(path: string, wanted: HolderFile): Claim {
  let file = wanted;
  return {
    get file() {
      return file;
    },
    amend(changes) {
      file = { ...file, ...changes };
      writeWhole(path, print(file));
      return file;
    },
    release() {
      const there = readClaim(path);
      if (there !== null && areSame(there.holder, file.holder)) rmSync(path, { force: true });
    },
  };
}

/**
 * `link` fails when the file exists, so only one of many gets the name. The claim of a dead holder cannot simply be
 * removed: of two processes that saw it, the slower one would remove the claim of the faster. A process that wants to
 * succeed a dead one must first be the only one to link a marker, a file named after the dead process. A process that
 * died while doing that is succeeded in the same way.
 */
function take(file: string, wanted: HolderFile): void {
  const temporary = writeBeside(file, print(wanted));
  try {
    while (!linked(temporary, file)) {
      const standing = readClaim(file);
      if (standing === null) continue;
      const markers = succeed(file, standing, temporary);
      // Another process may have taken and released the name since the claim was read.
      const now = readClaim(file);
      const unchanged = now !== null && areSame(now.holder, standing.holder);
      // Renamed, not written anew: the marker is another name of this file, and its readers must find our claim in it.
      if (unchanged) renameSync(temporary, file);
      for (const marker of unchanged ? markers : markers.slice(-1)) rmSync(marker, { force: true });
      if (unchanged) return;
    }
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** The markers linked by all processes that tried before, ours last. */
function succeed(file: string, standing: HolderFile, temporary: string): string[] {
  const markers = new Set<string>();
  for (let last = standing; ; ) {
    refuseIfAlive(last);
    const marker = `${file}.after-${last.holder.pid}-${last.holder.startTicks}`;
    if (markers.has(marker)) rmSync(marker, { force: true }); // damaged: no process can be read from it
    markers.add(marker);
    if (linked(temporary, marker)) return [...markers];
    last = readClaim(marker) ?? last;
  }
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function refuseIfAlive({ agentId, holder, startedAt }: HolderFile): void {
  if (!isStillThere(holder)) return;
  const since = new Date(startedAt).toISOString();
  throw new Fault("name-taken", `${agentId} is already running, held by process ${holder.pid} since ${since}`);
}

/** A claim appears whole, so one that cannot be parsed does not belong to a living process. */
function readClaim(file: string): HolderFile | null {
  const claim = readJson(file);
  if (claim === null) return null;
  const { pid, startTicks } = (claim["holder"] ?? {}) as Partial<ProcessId>;
  const known = typeof pid === "number" && typeof startTicks === "number" && typeof claim["startedAt"] === "number";
  const nobody = { agentId: "", startedAt: 0, holder: { pid: 0, startTicks: 0 } };
  return (known ? claim : nobody) as HolderFile;
}

function readJson(file: string): Record<string, unknown> | null {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function makePrivate(folder: string): void {
  if (!existsSync(folder)) mkdirSync(folder, { recursive: existsSync(dirname(folder)), mode: 0o700 });
  chmodSync(folder, 0o700);
}

function nameFault(folder: string, error: unknown): Fault {
  if (error instanceof Fault) return error;
  const reason = (error as NodeJS.ErrnoException).code ?? String(error);
  return new Fault("data-folder-unusable", `cannot write to ${folder} (${reason}); make room or make it writable`, {
    cause: error,
  });
}

const print = (file: HolderFile): string => `${JSON.stringify(file, null, 2)}\n`;
