import type { SharedTurn, StopOutcome } from "@rouse/contract";
import type { HolderLog } from "./holder-log.ts";
import { stopTree } from "./processes/stop-tree.ts";
import type { TreeWatch } from "./processes/watch-tree.ts";
import type { CodexScreen } from "./program/find-codex-turn.ts";

/**
 * Ends an agent with everybody it started. A server of Codex that others use is spared, or is not of its tree at all: what the agent has there is broken
 * off once its screen is gone and can begin nothing new.
 */
export async function stopAgent(
  tree: TreeWatch,
  graceMs: number,
  screen: CodexScreen | null,
  log: HolderLog,
): Promise<StopOutcome> {
  const outcome = await stopTree(tree, { graceMs });
  if (screen === null || outcome.kind === "refused") return outcome;
  const turn = await breakOff(screen).catch((error: unknown): SharedTurn => {
    log("Codex's server could not be asked to break off a turn", error);
    return "may-go-on";
  });
  // Nobody listens there, so what was spared, if anybody, is not to be asked.
  if (outcome.kind !== "stopped" || turn === null) return outcome;
  const { sharedTurn: spared, ...rest } = outcome;
  return turn === "none" && spared === undefined ? rest : { ...rest, sharedTurn: turn };
}

/** Loaded only here: most agents are somebody else's. */
async function breakOff(screen: CodexScreen): Promise<SharedTurn | null> {
  const { interruptCodex } = await import("./program/interrupt-codex.ts");
  return interruptCodex(screen);
}
