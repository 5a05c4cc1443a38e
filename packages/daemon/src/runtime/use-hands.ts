import type { EpochMs, MonoMs } from "@rouse/contract";
import type { Action, ActionOutcome, SavedWork } from "@rouse/core";
import type { Alerts } from "../ports/alerts.ts";
import type { Holders, Revival } from "../ports/holders.ts";
import type { Log } from "../ports/log.ts";
import type { Workspaces } from "../ports/workspaces.ts";

type Of<K extends Action["kind"]> = Extract<Action, { kind: K }>;

export interface Hands {
  readonly alerts: Alerts;
  readonly holders: Holders;
  readonly workspaces: Workspaces;
  readonly log: Log;
  /** Where an agent runs; `null` when nobody knows. */
  readonly folderOf: (agentId: string) => string | null;
  /** From which checkpoint the next life goes on, and the state to go on with. */
  readonly revivalFor: (action: Of<"restart-agent">) => Promise<Revival>;
  readonly ask: (action: Of<"escalate">) => Promise<ActionOutcome>;
  readonly withdraw: (action: Of<"withdraw-escalation">) => Promise<void>;
  readonly toWall: (at: MonoMs) => EpochMs;
}

/** Who does what was decided: alerts are delivered, work is saved, processes are stopped, spoken to and started by their holders. */
export function useHands(hands: Hands): (action: Action) => Promise<ActionOutcome> {
  const { alerts, holders, toWall } = hands;
  return async (action) => {
    switch (action.kind) {
      case "raise-alert":
      case "resolve-alert":
        await alerts.deliver(action);
        return "delivered";
      case "save-work":
        return { kind: "work", work: await saveWork(hands, action) };
      case "stop-agent":
        return stop(hands, action);
      case "restart-agent":
        return startAgain(hands, action);
      case "nudge-agent": {
        const { key, agentId, incarnation, text, notAfter } = action;
        const delivery = await holders.nudge({ key, agentId, incarnation, text, notAfter: toWall(notAfter) });
        return { kind: "nudge", delivery };
      }
      case "escalate":
        return hands.ask(action);
      case "withdraw-escalation":
        await hands.withdraw(action);
        return "delivered";
    }
  };
}

async function saveWork({ workspaces, folderOf }: Hands, action: Of<"save-work">): Promise<SavedWork> {
  const { agentId, incarnation, key } = action;
  const folder = folderOf(agentId);
  if (folder === null) return { kind: "nothing-to-save" };
  const request = { agentId, incarnation, key, folder, reason: "before it is stopped" };
  const outcome = await workspaces.snapshot(request);
  switch (outcome.kind) {
    case "taken":
      return { kind: "saved", commit: outcome.snapshot.commit, changed: outcome.snapshot.changed };
    case "nothing-to-save":
      return { kind: "nothing-to-save" };
    case "failed":
      return { kind: "not-saved", problem: outcome.problem };
  }
}

/** Our own decision is not repeated blindly when it could not be carried out: time has passed, so it is decided anew. */
async function stop({ holders, log }: Hands, action: Of<"stop-agent">): Promise<ActionOutcome> {
  const { key, agentId, incarnation, grace, spends } = action;
  try {
    return { kind: "stop", stop: await holders.stop({ key, agentId, incarnation, grace }) };
  } catch (error) {
    if (!spends) throw error;
    log.warn({ agentId, error: String(error) }, "an agent could not be stopped; whether it should be is decided anew");
    return { kind: "interrupted" };
  }
}

async function startAgain(hands: Hands, action: Of<"restart-agent">): Promise<ActionOutcome> {
  const done = await hands.holders.startAgain(action.agentId, action.incarnation, await hands.revivalFor(action));
  return "problem" in done
    ? { kind: "not-restarted", problem: done.problem }
    : { kind: "restarted", incarnation: done.incarnation, recovery: done.recovery };
}
