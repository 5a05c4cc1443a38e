import { type EpochMs, printable } from "@rouse/contract";
import { z } from "zod";
import type { LeftOut, SnapshotRequest } from "../../ports/workspaces.ts";

const SnapshotNote = z.object({
  agentId: z.string(),
  incarnation: z.number().int(),
  reason: z.string(),
  time: z.number(),
  changed: z.number().int(),
  leftOut: z.array(z.object({ path: z.string(), because: z.enum(["unreadable", "own-repository", "name-refused"]) })),
  leftOutCount: z.number().int(),
});

/** What is written into the commit of a snapshot, so that the repository alone can tell what it is. */
export type SnapshotNote = z.infer<typeof SnapshotNote>;

const mark = "Rouse-Snapshot: ";
const mostNamed = 20;

export function makeNote(
  { agentId, incarnation, reason }: SnapshotRequest,
  found: { readonly time: EpochMs; readonly changed: number; readonly leftOut: readonly LeftOut[] },
): SnapshotNote {
  const { time, changed, leftOut } = found;
  return {
    agentId,
    incarnation,
    reason: printable(reason, 200),
    time,
    changed,
    leftOut: leftOut.slice(0, mostNamed),
    leftOutCount: leftOut.length,
  };
}

/** A commit message: first what a person reads in `git log`, at the end what we read. */
export function writeNote(note: SnapshotNote): string {
  const { agentId, incarnation, reason, leftOutCount } = note;
  const missing =
    leftOutCount === 0 ? "" : `Not held, because unreadable or a repository of its own: ${leftOutCount}\n\n`;
  return `Snapshot of ${agentId}, life ${incarnation}\n\n${reason}\n\n${missing}${mark}${JSON.stringify(note)}\n`;
}

/** `null` for a message that is not one of ours. The last mark counts: what is above it may quote an agent. */
export function readNote(message: string): SnapshotNote | null {
  const at = message.lastIndexOf(`\n${mark}`);
  if (at === -1) return null;
  try {
    return SnapshotNote.safeParse(JSON.parse(message.slice(at + 1 + mark.length))).data ?? null;
  } catch {
    return null;
  }
}
