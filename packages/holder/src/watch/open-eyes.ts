import { setTimeout as pause } from "node:timers/promises";
import type { ProcessFacts } from "@rouse/contract";
import type { HolderLog } from "../holder-log.ts";
import { createNetworkWatch, type NetworkFacts, type NetworkWatch } from "../processes/watch-network.ts";
import type { TreeWatch } from "../processes/watch-tree.ts";
import type { Spec } from "../protocol/spec.ts";
import { watchFolder } from "./watch-folder.ts";

const mostPatienceMs = 2000;

/** Everything a holder sees of its agent besides its output. */
export function openEyes(
  tree: TreeWatch,
  spec: Spec,
  home: string,
  fault: HolderLog,
  network: NetworkWatch = createNetworkWatch(spec.env["ROUSE_URL"] ?? null),
) {
  const folder = watchFolder(spec.cwd, [home]);
  let seen: NetworkFacts | null = null;
  let looking: Promise<void> | null = null;

  function look(): Promise<void> {
    looking ??= network
      .look(tree.root().known.map(({ pid }) => pid))
      .catch((error: unknown) => {
        fault("the agent's connections could not be read", error);
        return null;
      })
      .then((facts) => {
        seen = facts;
        looking = null;
      });
    return looking;
  }

  return {
    /** Read at once. Connections are those of the look that the previous reading began. */
    facts(): ProcessFacts {
      const facts = tree.facts();
      const changes = folder.changes();
      // `null` while a look is still under way: repeating the earlier numbers would look like rest.
      const connections = looking === null ? seen : null;
      void look();
      return { ...facts, network: connections, files: changes === null ? null : { changes } };
    },
    /** Resolves when the next `facts` are current; files below a large folder wait for their round. */
    async lookAnew(): Promise<void> {
      await Promise.race([folder.look(), pause(mostPatienceMs, undefined, { ref: false })]);
      await looking;
      tree.look();
      await look();
    },
    close: folder.stop,
  };
}
