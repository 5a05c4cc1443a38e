import { type DurationMs, Fault, hours, type MonoMs } from "@rouse/contract";
import type { InTurn } from "../engine/serialize-by-key.ts";
import type { States } from "../ports/states.ts";
import type { StatesToKeep, Store } from "../ports/store.ts";

/** How many files are looked at in one go, so that nobody waits long. */
const perStep = 100;
const restFor: DurationMs = hours(1);

interface ForgetParts {
  readonly states: Pick<States, "list" | "remove">;
  readonly store: Pick<Store, "refersToState" | "forgetOldStates">;
  /** Whether a checkpoint that is not in the store yet needs it. */
  readonly isAwaited: (stateHash: string) => boolean;
  readonly inTurn: InTurn;
}

/** Removes the files of states that no checkpoint needs: of removed tasks, and of commits that a crash prevented. */
export function forgetStates(parts: ForgetParts) {
  const { states } = parts;
  const forgetFile = forgetFiles(parts);
  let after: string | null = null;
  let restUntil: MonoMs | null = null;

  /** One step of a round. True while there is more to do; after a whole round it rests for an hour. */
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

/** Removes the file of a state unless a checkpoint needs it: in turn with those who save the same state. */
const forgetFiles =
  ({ states, store, isAwaited, inTurn }: ForgetParts) =>
  (stateHash: string): Promise<void> =>
    inTurn(stateKey(stateHash), async () => {
      if (isAwaited(stateHash) || (await store.refersToState(stateHash))) return;
      await states.remove(stateHash);
    });

export const stateKey = (stateHash: string): string => `state ${stateHash}`;

/** More than enough: a recovery looks back 200 at most. */
export const statesKept: StatesToKeep = { states: 1000, bytes: 256 * 1024 * 1024 };
/** Heads are small and are all kept: so many are one a minute for two months. */
const mostCheckpoints = 100_000;
/** With every tenth checkpoint of a task, its states are counted. */
const lookEvery = 10;

/** Bounds what one task may keep. The oldest states are forgotten; their heads stay, and so does the chain. */
export function boundCheckpoints(parts: ForgetParts) {
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
    /**
     * Nobody waits for it. What fails is done with a later checkpoint; `forgetStates` finds files that are left over.
     */
    makeRoom(taskId: string, number: number): void {
      if (number % lookEvery !== 0) return;
      void parts.inTurn(`task ${taskId}`, () => forgetOld(taskId));
    },
  };
}
