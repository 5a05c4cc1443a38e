import { createHash } from "node:crypto";
import { printable } from "@rouse/contract";
import { z } from "zod";
import type { LeftOut, SnapshotRequest } from "../../ports/workspaces.ts";
import type { Repository } from "./find-repository.ts";
import { atEachGroup, failed } from "./run-git.ts";

export interface KeptSnapshot {
  readonly ref: string;
  readonly commit: string;
  readonly note: SnapshotNote;
}

const newestKept = 20;

/** The snapshots below a ref, newest first. Refs of anybody else are left out. */
export async function readSnapshots(repository: Repository, under: string): Promise<KeptSnapshot[]> {
  const kept: KeptSnapshot[] = [];
  const take = (ref: Buffer, commit: Buffer, message: Buffer): void => {
    const note = readNote(message.toString());
    // Git ends each answer with a line break, which lands in front of the next ref.
    if (note !== null) kept.push({ ref: ref.toString().trimStart(), commit: commit.toString(), note });
  };
  const format = "--format=%(refname)%00%(objectname)%00%(contents)%00";
  await repository.read(["for-each-ref", format, under], atEachGroup(3, take));
  return kept.sort((a, b) => b.note.time - a.note.time || (a.ref < b.ref ? 1 : -1));
}

/** Puts a commit under a ref; `taken` when somebody else was first. */
export async function keepUnder(repository: Repository, ref: string, commit: string): Promise<"kept" | "taken"> {
  const args = ["update-ref", "--no-deref", "--stdin"];
  const answer = await repository.ask(args, `create ${ref} ${commit}\n`);
  if (answer.status === 0) return "kept";
  if (/already exists/.test(answer.stderr)) return "taken";
  throw failed(args, answer);
}

/** Removes all but the newest snapshots of an agent. */
export async function thinOut(repository: Repository, agentId: string, spare: readonly string[]): Promise<void> {
  const all = await readSnapshots(repository, refsOf(agentId));
  const old = all
    .filter(({ note }) => note.agentId === agentId)
    .slice(newestKept)
    .filter(({ commit }) => !spare.includes(commit));
  if (old.length === 0) return;
  const orders = old.map(({ ref, commit }) => `delete ${ref} ${commit}\n`).join("");
  await repository.ask(["update-ref", "--no-deref", "--stdin"], orders);
}

export const allRefs = "refs/rouse/";
/** A file name may have 255 bytes on most disks, and git adds to it. */
const longestPart = 150;

const digest = (text: string, length: number): string =>
  createHash("sha256").update(text).digest("hex").slice(0, length);

/** The folder of one agent's refs. No two agents share one, because `%` is in no agent's name. */
export function refsOf(agentId: string): string {
  const safe = agentId
    .replace(/[^A-Za-z0-9._@+-]/g, (odd) => `%${Buffer.from(odd).toString("hex")}`)
    // Git refuses two dots in a row, a dot at the end, and .lock.
    .replace(/\.(?=\.|$|lock$)/g, "%2e");
  return `${allRefs}${safe.length <= longestPart ? safe : `${safe.slice(0, 100)}%${digest(agentId, 24)}`}/`;
}

export const nameRef = (agentId: string, incarnation: number, key: string): string =>
  `${refsOf(agentId)}${incarnation}-${digest(`${agentId}\0${key}`, 16)}`;

const SnapshotNote = z.object({
  agentId: z.string(),
  incarnation: z.number().int(),
  reason: z.string(),
  time: z.number(),
  changed: z.number().int(),
  leftOut: z.array(z.object({ path: z.string(), because: z.enum(["unreadable", "own-repository", "name-refused"]) })),
  leftOutCount: z.number().int(),
});

/** What a snapshot's commit says about it, so that the repository alone is enough to know. */
export type SnapshotNote = z.infer<typeof SnapshotNote>;

const mark = "Rouse-Snapshot: ";
const mostNamed = 20;

export const makeNote = (
  { agentId, incarnation, reason }: SnapshotRequest,
  changed: number,
  leftOut: readonly LeftOut[],
): SnapshotNote => ({
  agentId,
  incarnation,
  reason: printable(reason, 200),
  time: Date.now(),
  changed,
  leftOut: leftOut.slice(0, mostNamed),
  leftOutCount: leftOut.length,
});

/** The commit message: first what a person reads in `git log`, at the end what we read. */
export function writeNote(note: SnapshotNote): string {
  const { agentId, incarnation, reason, leftOutCount } = note;
  const missing =
    leftOutCount === 0 ? "" : `Not held, because unreadable or a repository of its own: ${leftOutCount}\n\n`;
  return `Snapshot of ${agentId}, life ${incarnation}\n\n${reason}\n\n${missing}${mark}${JSON.stringify(note)}\n`;
}

/** `null` for a message that is not ours. The last mark counts: what is above it may quote an agent. */
export function readNote(message: string): SnapshotNote | null {
  const at = message.lastIndexOf(`\n${mark}`);
  if (at === -1) return null;
  try {
    return SnapshotNote.safeParse(JSON.parse(message.slice(at + 1 + mark.length))).data ?? null;
  } catch {
    return null;
  }
}
