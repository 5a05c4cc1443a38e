import type { Alerts } from "../../ports/alerts.ts";
import type { Log } from "../../ports/log.ts";

/** Alerts as lines of the monitor's own log. */
export function alertsToLog(log: Log): Alerts {
  return {
    async deliver(action) {
      const { key, agentId } = action;
      if (action.kind === "resolve-alert")
        return log.info({ alert: key, agentId }, `resolved: the alert about ${agentId ?? "the fleet"} is over`);
      const say = action.severity === "info" ? log.info : log.warn;
      say.call(log, { alert: key, agentId, severity: action.severity }, action.summary);
    },
  };
}
