import { type DurationMs, hours, type MonoMs } from "@rouse/contract";
import type { InTurn } from "../engine/serialize-by-key.ts";
import type { States } from "../ports/states.ts";
import type { Store } from "../ports/store.ts";

/** So many files are looked at in one go, so that nobody waits long for it. */
const perStep = 100;
const restFor: DurationMs = hours(1);

export interface ForgetParts {
  readonly states: Pick<States, "list" | "remove">;
  readonly store: Pick<Store, "refersToState">;
  /** A checkpoint that is on its way to the store needs it. */
  readonly isAwaited: (stateHash: string) => boolean;
  readonly inTurn: InTurn;
}

/** Removes the files of states that no checkpoint needs any more: those of tasks that were tidied away, and what a crash left before its commit. */
export function forgetStates(parts: ForgetParts) {
  const { states } = parts;
  const forgetFile = forgetFiles(parts);
  let after: string | null = null;
  let restUntil: MonoMs | null = null;

  /** One step. True while there is more to do; after a whole round it rests. */
  return async (now: MonoMs): Promise<boolean> => {
    if (restUntil !== null && now < restUntil) return false;
    restUntil = null;
    const found = await states.list(after, perStep);
    for (const stateHash of found) await forgetFile(stateHash);
    const isMore = found.length === perStep;
    after = isMore ? (found.at(-1) ?? null) : null;
    if (!isMore) restUntil = now + restFor;
    return isMore;
  };
}

/** Removes the file of a state unless a checkpoint needs it. */
export function forgetFiles({ states, store, isAwaited, inTurn }: ForgetParts) {
  async function forgetOne(stateHash: string): Promise<void> {
    if (isAwaited(stateHash) || (await store.refersToState(stateHash))) return;
    await states.remove(stateHash);
  }

  // In turn with whoever saves the same state: between the question and the removal nobody may come to need it.
  return (stateHash: string): Promise<void> => inTurn(stateKey(stateHash), () => forgetOne(stateHash));
}

export const stateKey = (stateHash: string): string => `state ${stateHash}`;
