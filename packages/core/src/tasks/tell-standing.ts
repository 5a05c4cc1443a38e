import type { AlertSeverity, RouseEvent } from "@rouse/contract";
import type { Assignments, JudgedAssignments } from "./judge-assignments.ts";
import { tellRaised, tellResolved } from "./task-alert.ts";

export type StandingEvent = Extract<RouseEvent, { type: `ASSIGNMENTS_${string}` }>;

/** An agent gets fewer tasks, none, or as many as others again: never in silence. Its next alert takes the place of the one before. */
export function tellStanding(after: Assignments, event: StandingEvent): JudgedAssignments {
  const { agentId } = after;
  const closed = after.alert === null ? nothing : tellResolved(after.alert, agentId);
  const wanted = wantedBy(event);
  if (wanted === null)
    return { assignments: { ...after, alert: null }, events: [event, ...closed.events], actions: closed.actions };
  const alertsRaised = after.alertsRaised + 1;
  const key = `assignments/${agentId}/${after.standing}/${alertsRaised}`;
  const raised = tellRaised(key, agentId, wanted.severity, wanted.summary);
  return {
    assignments: { ...after, alert: key, alertsRaised },
    events: [event, ...closed.events, ...raised.events],
    actions: [...closed.actions, ...raised.actions],
  };
}

const nothing = { events: [], actions: [] } as const;

function wantedBy(event: StandingEvent): { readonly severity: AlertSeverity; readonly summary: string } | null {
  switch (event.type) {
    case "ASSIGNMENTS_REDUCED":
      return { severity: "warning", summary: `${shareIn(event.payload)}: it gets one at a time` };
    case "ASSIGNMENTS_STOPPED": {
      const way = `\`rouse tasks trust ${event.payload.agentId}\``;
      return { severity: "critical", summary: `${shareIn(event.payload)}: it gets none until ${way}` };
    }
    case "ASSIGNMENTS_RESTORED":
      return null;
  }
}

const shareIn = ({ agentId, failed, of }: { agentId: string; failed: number; of: number }): string =>
  `${failed} of the last ${of} tasks of ${agentId} failed`;
