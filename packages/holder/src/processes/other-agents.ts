import { existsSync, readdirSync, readFileSync } from "node:fs";
import { uptime } from "node:os";
import { basename, dirname, join } from "node:path";
import { attempt } from "../attempt.ts";
import { holderFiles, holdersFolder } from "../protocol/holder-files.ts";
import type { ProcessId } from "../protocol/spec.ts";
import { locateOwnGroup } from "./cgroup.ts";
import {
  areSame,
  executableOf,
  isSame,
  keyOf,
  markVariable,
  type ProcessInfo,
  parseEnvironment,
  readProcess,
  type TreeRoot,
} from "./read-processes.ts";

/** The fields we need of another agent's `holder.json`; read by hand, because a holder does without schemas. */
interface Claim {
  readonly agentId: string;
  readonly holder: ProcessId;
  readonly agent: ProcessId | null;
  readonly mark: string;
}

/**
 * Tests which other living agent of Rouse a process belongs to that looks like part of this tree; `null`: none. An
 * agent that starts another is its parent for a moment, passes its mark on to `rouse run`, and shares a terminal server
 * with others; none of that makes the other part of its tree. What counts is what is nearest to the process itself:
 * that it holds an agent, the control group it is in, which process started it, the mark it carries. Without any of
 * these the owner of its parent or of its session's leader counts.
 */
export function createOwnerTest(root: TreeRoot, read: (pid: number) => ProcessInfo | null = readProcess) {
  const known = new Map<number, string | null>();

  function ownerOf(info: ProcessInfo): string | null {
    const before = known.get(info.pid);
    if (before !== undefined) return before;
    known.set(info.pid, null); // numbers given out anew while we read could make it a circle
    const owner = find(info);
    known.set(info.pid, owner);
    return owner;
  }

  function find(info: ProcessInfo): string | null {
    if (areSame(info, root.agent) || info.pid === process.pid || info.pid <= 1) return null;
    const parent = read(info.ppid);
    const shown = heldBy(info) ?? groupOwner(info, root) ?? (parent === null ? null : heldBy(parent));
    if (shown !== null) return shown;
    const environment = environmentOf(info.pid);
    const mark = environment.get(markVariable);
    if (mark === root.mark) return null;
    const marked = mark === undefined ? null : markOwner(mark, environment);
    return marked ?? (parent === null ? null : ownerOf(parent)) ?? ownerOfSession(info);
  }

  function ownerOfSession({ pid, session }: ProcessInfo): string | null {
    const leader = session === pid ? null : read(session);
    return leader === null ? null : ownerOf(leader);
  }

  return ownerOf;
}

/** The agent that another process holds: told by its arguments from the first moment on, or by a claimed name. */
function heldBy(info: ProcessInfo): string | null {
  if (info.pid === process.pid || !runsNode(info.pid)) return null;
  const words = textOf(`/proc/${info.pid}/cmdline`).split("\0").slice(0, -1);
  return spawnedFor(info, words) ?? (words.includes("run") ? runsInForeground(info) : null);
}

/** A holder in the background: `node … holder.js FOLDER`. At first its parent has the claim of the name. */
function spawnedFor(info: ProcessInfo, words: readonly string[]): string | null {
  const folder = words.at(-1) ?? "";
  if (basename(words.at(-2) ?? "") !== "holder.js" || basename(dirname(folder)) !== "holders") return null;
  const files = holderFiles(dirname(dirname(folder)), basename(folder));
  if (!existsSync(files.spec)) return null;
  const claim = readClaim(files.holder);
  const isTheirs = claim === null || areSame(claim.holder, info) || claim.holder.pid === info.ppid;
  return isTheirs || !isSame(claim.holder) ? basename(folder) : null;
}

/** `rouse run` claims its name soon after it started. An older process without a name is not looked at again. */
const claimsWithinMs = 60_000;
const lookedAt = new Set<string>();

/** Searches the claims in the process's home: nothing else shows that it holds an agent. */
function runsInForeground(info: ProcessInfo): string | null {
  const name = keyOf(info);
  if (lookedAt.has(name)) return null;
  for (const home of homesIn(environmentOf(info.pid))) {
    const found = (attempt(() => readdirSync(holdersFolder(home))) ?? [])
      .map((agentId) => readClaim(holderFiles(home, agentId).holder))
      .find((claim) => claim !== null && areSame(claim.holder, info));
    if (found != null) return found.agentId;
  }
  if (lookedAt.size > 10_000) lookedAt.clear();
  if (uptime() * 1000 - info.startTicks * 10 > claimsWithinMs) lookedAt.add(name);
  return null;
}

/** The owner of a process's control group, if that is another agent's and its holder lives in the other half. */
function groupOwner({ pid }: ProcessInfo, { cgroup }: TreeRoot): string | null {
  const own = textOf(`/proc/${pid}/cgroup`);
  const name = /^0::.*?\/rouse-agents\/([^/\n]+)\/(?:agent|holder)(?:\/|$)/m.exec(own)?.[1];
  if (name === undefined || (cgroup !== null && basename(dirname(cgroup)) === name)) return null;
  const place = locateOwnGroup(textOf("/proc/self/mountinfo"), own);
  if (place === null) return null;
  const upTo = place.path.slice(0, place.path.indexOf(`/${name}/`) + name.length + 1);
  const holders = textOf(join(place.mount, upTo, "holder", "cgroup.procs"));
  // The name of a group is that of its agent, without characters that the file system refuses, and a random end.
  return holders.trim() === "" ? null : name.replace(/-[0-9a-f]{12}$/, "");
}

/** Any process can carry any mark. A mark counts if the file of a living agent says that it is its own. */
function markOwner(mark: string, environment: ReadonlyMap<string, string>): string | null {
  const agentId = environment.get("ROUSE_AGENT_ID") ?? "";
  if (!/^[\w.:-]+$/.test(agentId)) return null;
  for (const home of homesIn(environment)) {
    const claim = readClaim(holderFiles(home, agentId).holder);
    if (claim === null || claim.mark !== mark) continue;
    if (isSame(claim.holder) || (claim.agent !== null && isSame(claim.agent))) return claim.agentId;
  }
  return null;
}

function homesIn(environment: ReadonlyMap<string, string>): string[] {
  const home = environment.get("HOME") ?? "";
  const given = environment.get("ROUSE_HOME") ?? "";
  if (given !== "") return [given];
  return home === "" ? [] : [join(home, ".rouse")];
}

/** `null`: there is none, or it is not whole. */
function readClaim(file: string): Claim | null {
  const { agentId, holder, agent, mark }: Partial<Claim> = attempt(() => JSON.parse(textOf(file))) ?? {};
  if (typeof agentId !== "string" || typeof holder?.pid !== "number") return null;
  return { agentId, holder, agent: agent ?? null, mark: mark ?? "" };
}

/** Empty when the file is gone, hidden from us or cannot be read: then it shows no owner. */
const textOf = (file: string): string => attempt(() => readFileSync(file, "utf8")) ?? "";

const environmentOf = (pid: number) => parseEnvironment(textOf(`/proc/${pid}/environ`));

function runsNode(pid: number): boolean {
  const file = executableOf(pid);
  return file !== null && (file === basename(process.execPath) || /^node/.test(file));
}
