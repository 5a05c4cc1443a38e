import { type DurationMs, Fault, hours, type MonoMs } from "@rouse/contract";
import type { InTurn } from "../engine/serialize-by-key.ts";
import type { States } from "../ports/states.ts";
import type { StatesToKeep, Store } from "../ports/store.ts";

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

/** The way back never looks further than 200. */
export const statesKept: StatesToKeep = { states: 1000, bytes: 256 * 1024 * 1024 };
/** Heads are small and are kept: one a minute for two months. */
export const mostCheckpoints = 100_000;
/** So often it is looked whether there are too many. */
const lookEvery = 10;

export interface BoundParts extends ForgetParts {
  readonly store: Pick<Store, "refersToState" | "forgetOldStates">;
}

/** What one task may keep. Of too many states the oldest are forgotten, because what saves now is what recovery needs; their heads stay, so the chain does. */
export function boundCheckpoints(parts: BoundParts) {
  const forgetFile = forgetFiles(parts);

  async function forgetOld(taskId: string): Promise<void> {
    for (const stateHash of await parts.store.forgetOldStates(taskId, statesKept)) await forgetFile(stateHash);
  }

  return {
    refuseTooMany(taskId: string, number: number): void {
      if (number <= mostCheckpoints) return;
      throw new Fault(
        "checkpoint-refused",
        `task ${taskId} has ${mostCheckpoints} checkpoints and takes no more; go on in a new task`,
      );
    },
    /** Nobody waits for it. What could not be done now is done with the next; files that are left over are found by the hourly look. */
    makeRoom(taskId: string, number: number): void {
      if (number % lookEvery !== 0) return;
      void parts.inTurn(`task ${taskId}`, () => forgetOld(taskId));
    },
  };
}
