import type { Checkpoint, CheckpointFlaw, LostWork } from "@rouse/contract";

/** A checkpoint of a task and its flaws. `null`: not even its head can be read. */
export interface CheckpointLink {
  readonly checkpoint: Checkpoint | null;
  readonly flaws: readonly CheckpointFlaw[];
}

interface CheckpointChoice {
  /** `null`: the task starts over, and a person is told. */
  readonly checkpoint: Checkpoint | null;
  readonly lost: LostWork;
}

/** Each checkpoint is whole by itself: a flaw of its parents is reported, but it can still be used. */
const spoils: Readonly<Record<CheckpointFlaw, boolean>> = {
  "head-changed": true,
  "state-missing": true,
  "state-changed": true,
  unreadable: true,
  missing: true,
  "parent-missing": false,
  "parent-flawed": false,
};

export const isUsable = (flaws: readonly CheckpointFlaw[]): boolean => !flaws.some((flaw) => spoils[flaw]);

/** The newest checkpoint that can be used. `olderUnread`: there are more than were looked at. */
export function chooseCheckpoint(links: readonly CheckpointLink[], olderUnread = false): CheckpointChoice {
  const place = links.findIndex(({ checkpoint, flaws }) => checkpoint !== null && isUsable(flaws));
  const chosen = links[place]?.checkpoint ?? null;
  const looked = chosen === null ? links : links.slice(0, place + 1);
  const lost: LostWork = {
    checkpoints: chosen === null ? links.length : place,
    steps: countSteps(links[0], chosen),
    flaws: [...new Set(looked.flatMap(({ flaws }) => flaws))],
    startsOver: chosen === null,
  };
  return { checkpoint: chosen, lost: chosen === null && olderUnread ? { ...lost, olderUnread } : lost };
}

/** The step in a changed head cannot be counted with. */
function countSteps(newest: CheckpointLink | undefined, chosen: Checkpoint | null): number | null {
  if (chosen === null || newest?.checkpoint == null) return null;
  if (newest.flaws.includes("head-changed") || newest.flaws.includes("unreadable")) return null;
  return Math.max(0, newest.checkpoint.step - chosen.step);
}
