import type { Action, ActionOutcome } from "@rouse/core";
import type { Alerts } from "../ports/alerts.ts";
import type { Holders } from "../ports/holders.ts";

/** Who does what was decided: alerts are delivered, processes are stopped and started by their holders. */
export function useHands(alerts: Alerts, holders: Holders): (action: Action) => Promise<ActionOutcome> {
  return async (action) => {
    switch (action.kind) {
      case "raise-alert":
      case "resolve-alert":
        await alerts.deliver(action);
        return "delivered";
      case "stop-agent": {
        const { key, agentId, incarnation, grace } = action;
        return { kind: "stop", stop: await holders.stop({ key, agentId, incarnation, grace }) };
      }
      case "restart-agent": {
        const done = await holders.startAgain(action.agentId, action.incarnation);
        return "problem" in done
          ? { kind: "not-restarted", problem: done.problem }
          : { kind: "restarted", incarnation: done.incarnation };
      }
    }
  };
}
