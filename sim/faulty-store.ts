import { Fault } from "@rouse/contract";
import type { Commit, Store } from "../packages/daemon/src/ports/store.ts";

/** A store that can be made to fail, and to take its monitor down right after a commit and before anybody hears of it. */
export function makeFaulty(store: Store, trouble: { outage: boolean; crashAfterCommit: (() => void) | null }): Store {
  return {
    ...store,
    async commit(commit: Commit): Promise<void> {
      if (trouble.outage) throw new Fault("store-unavailable", "simulated outage", { retryable: true });
      await store.commit(commit);
      const crash = trouble.crashAfterCommit;
      if (crash === null) return;
      trouble.crashAfterCommit = null;
      crash();
      await new Promise<never>(() => undefined);
    },
  };
}
