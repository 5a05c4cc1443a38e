import {
  AgentHealth,
  AgentList,
  AgentRegistration,
  Fault,
  HealthState,
  Heartbeat,
  HeartbeatAck,
  HeartbeatAnswer,
  HeartbeatList,
  HistoryReport,
  isUnhealthy,
  OrderAnswer,
  OrderRequest,
  parseDuration,
  RemovedAgent,
  RemoveRequest,
  WhyReport,
} from "@rouse/contract";
import type { AgentRecord } from "@rouse/core";
import { durationWanted } from "../agents/read-history.ts";
import type { Monitor } from "../monitor.ts";
import { givenBy } from "../orders/note-orders.ts";
import type { AgentSpeaker } from "./guard.ts";
import {
  cursor,
  del,
  get,
  limit,
  oneOf,
  owner,
  ownerAnd,
  type Param,
  post,
  type Route,
  readersAnd,
  someOf,
  text,
} from "./route.ts";
import { leaveForeignTask, refuseOverreach } from "./who-may.ts";

/** Whether an agent may see another, or, for `null`, any other. */
export type MaySee = (agent: AgentSpeaker, other: string | null) => boolean;

const duration: Param<number> & { otherwise: number } = {
  about: "how far back, such as 1h or 7d; 1h when not given",
  schema: { type: "string", default: "1h" },
  read(given) {
    const lasts = parseDuration(given);
    if (lasts === null) throw new Fault("bad-request", durationWanted);
    return lasts;
  },
  otherwise: 3_600_000,
};

export function agentRoutes(monitor: Monitor, maySee: MaySee): Route[] {
  const isInSight = (reader: AgentSpeaker, agentId: string): boolean =>
    agentId === reader.agentId || maySee(reader, agentId);

  return [
    post("/api/v1/heartbeats", {
      who: ownerAnd("any"),
      id: "recordHeartbeats",
      about: "Take one heartbeat, an array of them, or one per line",
      request: { body: Heartbeat, as: "lines" },
      answer: { 200: HeartbeatAnswer, 400: HeartbeatAck, 403: HeartbeatAck, 409: HeartbeatAck, 422: HeartbeatAck },
      run: null,
    }),
    post("/api/v1/agents", {
      who: ownerAnd("any"),
      id: "registerAgent",
      about: "Announce an agent, or its next incarnation",
      request: { body: AgentRegistration, read: "inside" },
      answer: { 201: AgentHealth },
      run: ({ agent, body }) => monitor.register(agent === null ? body : announceOwnLife(monitor, agent, body)),
    }),
    get("/api/v1/agents", {
      who: readersAnd("fleet"),
      id: "listAgents",
      about: "Every agent's health, in the order they came to be known, and what the monitor holds against itself",
      request: {
        query: {
          state: someOf("only in these states", HealthState.options),
          type: text("only of this type"),
          node: text("only on this node"),
          task: text("only on this task"),
          q: text("only with this in the name of agent, type, node or task"),
          filter: oneOf("only those that are not well and not over, or a person's matter", ["unhealthy"]),
          limit: limit(1000, 10_000),
          cursor,
        },
      },
      answer: { 200: AgentList },
      run({ query, agent: reader }) {
        const { agents, next } = monitor.agentsAfter(query.cursor ?? 0, query.limit, {
          record: (record) => isWanted(record, query) && (reader === null || isInSight(reader, record.agentId)),
          shown: (agent) => query.filter === undefined || isUnhealthy(agent),
        });
        return { agents, monitor: monitor.doubts(), next: next === null ? null : String(next) };
      },
    }),
    get("/api/v1/agents/{id}", {
      who: readersAnd("seen"),
      id: "getAgent",
      about: "One agent's health",
      answer: { 200: AgentHealth },
      faults: ["agent-unknown"],
      run: ({ id }) => monitor.agent(id),
    }),
    get("/api/v1/agents/{id}/why", {
      who: readersAnd("seen"),
      id: "explainAgent",
      about: "Everything behind its verdict",
      answer: { 200: WhyReport },
      faults: ["agent-unknown"],
      run: ({ id }) => monitor.why(id),
    }),
    get("/api/v1/agents/{id}/history", {
      who: readersAnd("itself"),
      id: "getAgentHistory",
      about: "Its past in even steps",
      request: { query: { duration } },
      answer: { 200: HistoryReport },
      faults: ["agent-unknown"],
      run: ({ id, query }) => monitor.history(id, query.duration),
    }),
    get("/api/v1/agents/{id}/heartbeats", {
      who: readersAnd("itself"),
      id: "listHeartbeats",
      about: "Its last heartbeats, newest first",
      request: { query: { limit: limit(100, 1000), cursor } },
      answer: { 200: HeartbeatList },
      faults: ["agent-unknown"],
      run: ({ id, query }) => monitor.heartbeats(id, query.limit, query.cursor),
    }),
    ...orderRoutes(monitor),
  ];
}

const orders = {
  terminate: "End it, with every process it left; its work is saved first",
  recover: "End it and bring it back from its last checkpoint",
};

function orderRoutes(monitor: Monitor): Route[] {
  return [
    ...Object.entries(orders).map(([order, about]) =>
      post(`/api/v1/agents/{id}/${order}`, {
        who: owner,
        id: `${order}Agent`,
        about,
        request: { body: OrderRequest },
        answer: { 200: OrderAnswer },
        faults: ["agent-unknown", "not-supervised", "order-refused"],
        run: ({ id, body, principal }) => monitor[order as keyof typeof orders](id, givenBy(principal, body)),
      }),
    ),
    del("/api/v1/agents/{id}", {
      who: owner,
      id: "removeAgent",
      about: "Take an agent that is over out of the list; its events and audit lines stay",
      request: { body: RemoveRequest },
      answer: { 200: RemovedAgent },
      faults: ["agent-unknown", "order-refused"],
      run: ({ id, body, principal }) => monitor.remove(id, givenBy(principal, body)),
    }),
  ];
}

interface Wanted {
  readonly state?: readonly HealthState[] | undefined;
  readonly type?: string | undefined;
  readonly node?: string | undefined;
  readonly task?: string | undefined;
  readonly q?: string | undefined;
}

const isWanted = (
  { agentId, identity: { agentType, node }, task: { id: taskId }, health }: AgentRecord,
  { state, type, node: onNode, task, q }: Wanted,
): boolean =>
  (state === undefined || state.includes(health.state)) &&
  (type === undefined || agentType === type) &&
  (onNode === undefined || node === onNode) &&
  (task === undefined || taskId === task) &&
  (q === undefined || [agentId, agentType, node, taskId].some((name) => name?.toLowerCase().includes(q.toLowerCase())));

/** An agent announces the life that its token is for, and no other: without a number it would be the next one. */
function announceOwnLife(monitor: Monitor, agent: AgentSpeaker, body: unknown): unknown {
  if (typeof body !== "object" || body === null) return body;
  const { noteRefusedSpeaker, help } = monitor;
  const holdsTask = help.tasks.isWorkOf;
  const said = leaveForeignTask(agent, body as Record<string, unknown>, holdsTask);
  refuseOverreach(agent, said, { noteRefusedSpeaker, holdsTask });
  return agent.incarnation === null ? said : { incarnation: agent.incarnation, ...said };
}
