import { IncidentList, type IncidentReport, type Recovery, RecoveryList, type SavedEvent } from "@rouse/contract";
import type { Monitor } from "../monitor.ts";
import { cursor, get, limit, oneOf, pageOf, type Route, readers, stretchOf, text } from "./route.ts";

type IncidentEntry = IncidentList["incidents"][number];

/** Incidents and recoveries: the open ones from the records of agents, the past ones from events. */
export function incidentRoutes(monitor: Pick<Monitor, "agentsAfter" | "doubts" | "events">): Route[] {
  return [
    get("/api/v1/incidents", {
      who: readers,
      id: "listIncidents",
      about: "Open incidents, of the fleet first; or those that are over, the last first",
      request: {
        query: {
          state: oneOf("open when not given", ["open", "closed"]),
          agentId: text("only of this agent"),
          limit: limit(100, 1000),
          cursor,
        },
      },
      answer: { 200: IncidentList },
      run: ({ query: { state, ...query } }) =>
        state === "closed" ? listClosed(monitor, query) : listOpen(monitor, query),
    }),
    get("/api/v1/recoveries", {
      who: readers,
      id: "listRecoveries",
      about: "How agents were brought back, attempt by attempt, the last first",
      request: { query: { agentId: text("only of this agent"), limit: limit(100, 1000), cursor } },
      answer: { 200: RecoveryList },
      run: ({ query }) => listRecoveries(monitor, query),
    }),
  ];
}

interface Query {
  readonly agentId?: string | undefined;
  readonly limit: number;
  readonly cursor?: number | undefined;
}

function listOpen(monitor: Pick<Monitor, "agentsAfter" | "doubts">, { agentId, limit, cursor }: Query) {
  const { agents, next } = monitor.agentsAfter(cursor ?? 0, limit, {
    record: (record) => record.ladder.incident !== null && (agentId === undefined || record.agentId === agentId),
    shown: ({ incident }) => incident !== null,
  });
  const ofFleet = cursor === undefined && agentId === undefined ? monitor.doubts().fleetIncidents : [];
  const incidents: IncidentEntry[] = [
    ...ofFleet.map((incident) => ({ state: "open" as const, of: "fleet" as const, ...incident })),
    ...agents.map(({ agentId, taskId, incident }) => ({
      state: "open" as const,
      of: "agent" as const,
      agentId,
      taskId,
      ...(incident as IncidentReport),
    })),
  ];
  return { incidents, next: next === null ? null : String(next) };
}

/** Those of the fleet are among them where no agent is asked for. */
async function listClosed(monitor: Pick<Monitor, "events">, { agentId, limit, cursor }: Query) {
  const found = await monitor.events({
    limit: limit + 1,
    ...stretchOf({ cursor }),
    types: ["INCIDENT_CLOSED", "FLEET_INCIDENT_CLOSED"],
    agentId,
  });
  const { page, next } = pageOf(found, limit, ({ id }) => id);
  return { incidents: page.flatMap((event) => closedBy(event) ?? []), next };
}

function closedBy({ time, ...event }: SavedEvent): IncidentEntry | null {
  if (event.type === "INCIDENT_CLOSED") {
    const { incident: id, agentId, ending, because, lastedSeconds } = event.payload;
    return { state: "closed", of: "agent", id, agentId, ending, because, closedAt: time, lastedSeconds };
  }
  if (event.type !== "FLEET_INCIDENT_CLOSED") return null;
  const { incident: id, ...payload } = event.payload;
  return { state: "closed", of: "fleet", id, ...payload, closedAt: time };
}

async function listRecoveries({ events }: Pick<Monitor, "events">, { agentId, limit, cursor }: Query) {
  const types = ["RECOVERY_INITIATED"] as const;
  const found = await events({ limit: limit + 1, ...stretchOf({ cursor }), types, agentId });
  const { page, next } = pageOf(found, limit, ({ id }) => id);
  const recoveries: Recovery[] = [];
  for (const begun of page) {
    if (begun.type !== "RECOVERY_INITIATED") continue;
    const [after] = await events({
      agentId: begun.payload.agentId,
      after: begun.id,
      types: ["RECOVERY_INITIATED", "RECOVERY_COMPLETED", "RECOVERY_FAILED"],
      limit: 1,
    });
    recoveries.push({ ...begun.payload, startedAt: begun.time, ...outcomeOf(after) });
  }
  return { recoveries, next };
}

/** By the next event about the same agent's recovery. */
function outcomeOf(after: SavedEvent | undefined): Pick<Recovery, "outcome" | "endedAt" | "completed" | "failed"> {
  switch (after?.type) {
    case "RECOVERY_COMPLETED": {
      const { newAgentId, incarnation, fromCheckpoint, step, lost, tookSeconds } = after.payload;
      const completed = { newAgentId, incarnation, fromCheckpoint, step, lost, tookSeconds };
      return { outcome: "completed", endedAt: after.time, completed };
    }
    case "RECOVERY_FAILED":
      return { outcome: "failed", endedAt: after.time, failed: { reason: after.payload.reason } };
    case "RECOVERY_INITIATED":
      return { outcome: "tried-again", endedAt: after.time };
    default:
      return { outcome: "under-way", endedAt: null };
  }
}
