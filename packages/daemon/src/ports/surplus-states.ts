import type { SavedHead, StatesToKeep } from "./store.ts";

interface KeptState extends Pick<SavedHead, "id" | "head"> {
  readonly isForgotten: boolean;
}

/** Commits wait while these are written. */
const mostAtOnce = 200;

/** The oldest states of a task beyond what is kept. Where a state was forgotten before, all older ones were too. */
export function surplusStates<T extends KeptState>(newestFirst: Iterable<T>, keep: StatesToKeep): T[] {
  const surplus: T[] = [];
  let states = 0;
  let bytes = 0;
  for (const one of newestFirst) {
    if (one.isForgotten) break;
    states += 1;
    bytes += bytesIn(one.head);
    if (states > 1 && (states > keep.states || bytes > keep.bytes)) surplus.push(one);
  }
  return surplus.slice(-mostAtOnce);
}

/** A damaged head counts as nothing. */
function bytesIn(head: string): number {
  try {
    const { stateBytes } = JSON.parse(head) as { stateBytes?: unknown };
    return typeof stateBytes === "number" ? Math.max(0, stateBytes) : 0;
  } catch {
    return 0;
  }
}
