import { agentOfEscalation, type EscalationEnding, type EventType, type SavedEvent } from "@rouse/contract";
import type { Store } from "../ports/store.ts";

const types: readonly EventType[] = [
  "ESCALATION_TRIGGERED",
  "ESCALATION_DECIDED",
  "ESCALATION_UNANSWERED",
  "INCIDENT_CLOSED",
];
const atOnce = 1000;

/** How a question that is not open any more ended, by what is kept of it; `null` when it was never asked, or so long ago that nobody remembers. */
export async function recallEnding(
  readEvents: Store["readEvents"],
  escalation: string,
): Promise<EscalationEnding | null> {
  const agentId = agentOfEscalation(escalation);
  if (agentId === null) return null;
  let incident: string | null = null;
  for (let after = 0; ; ) {
    const page: SavedEvent[] = await readEvents({ agentId, types, after, limit: atOnce });
    for (const event of page) {
      if (event.type === "ESCALATION_TRIGGERED" && event.payload.escalation === escalation)
        incident = event.payload.incident;
      const ending: EscalationEnding | null = endingIn(event, escalation, incident);
      if (ending !== null) return ending;
    }
    const last = page[page.length - 1];
    if (last === undefined || page.length < atOnce) return incident === null ? null : { how: "overtaken" };
    after = last.id;
  }
}

function endingIn(event: SavedEvent, escalation: string, incident: string | null): EscalationEnding | null {
  const at = event.time;
  if (event.type === "ESCALATION_DECIDED" && event.payload.escalation === escalation) {
    const { decision, actor, reason } = event.payload;
    return { how: "decided", at, decision, actor, reason };
  }
  if (event.type === "ESCALATION_UNANSWERED" && event.payload.escalation === escalation)
    return { how: "unanswered", at, waitedSeconds: event.payload.waitedSeconds };
  if (event.type === "INCIDENT_CLOSED" && event.payload.incident === incident) {
    const { ending, because } = event.payload;
    return { how: "incident-closed", at, ending, because };
  }
  return null;
}
