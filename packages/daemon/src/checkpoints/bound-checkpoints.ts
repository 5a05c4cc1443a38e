import { Fault } from "@rouse/contract";
import type { StatesToKeep, Store } from "../ports/store.ts";
import { type ForgetParts, forgetFiles } from "./forget-states.ts";

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
