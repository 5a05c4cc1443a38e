import type { IncomingMessage } from "node:http";
import {
  AcknowledgeRequest,
  AgentAnswer,
  AnswerAck,
  CheckInAnswer,
  type ClosedEscalation,
  DecisionRequest,
  DecisionResult,
  Empty,
  type EpochMs,
  EscalateRequest,
  type EscalationEnding,
  EscalationId,
  EscalationList,
  EscalationNotice,
  type EscalationReport,
  EscalationResult,
  Fault,
  NudgeRequest,
  NudgeResult,
  printable,
  type SavedEvent,
} from "@rouse/contract";
import { verifyWebhook, type WebhookVerdict } from "@rouse/sdk";
import type { FastifyReply } from "fastify";
import type { Answered, Orders } from "../escalations/take-orders.ts";
import { givenBy } from "../orders/note-orders.ts";
import type { EventQuery } from "../ports/store.ts";
import { parseJson } from "./parse-json.ts";
import { answerProblem } from "./problem.ts";
import {
  cursorText,
  deciders,
  get,
  limit,
  oneOf,
  owner,
  ownerAnd,
  pageOf,
  placeIn,
  post,
  type Route,
  readers,
  readRequest,
  Sent,
  stretchOf,
  text,
} from "./route.ts";

/** What the routes below call. */
export interface Escalations
  extends Pick<Orders, "escalations" | "decide" | "acknowledge" | "nudge" | "escalate" | "answer" | "checkIn"> {
  /** An open question with all that is known; `null` when it is not open. */
  escalationNotice(id: string): Promise<EscalationNotice | null>;
  events(query: EventQuery): Promise<SavedEvent[]>;
  /** `null` when it was never asked. */
  howItEnded(id: string): Promise<EscalationEnding | null>;
}

type BadSignature = Exclude<WebhookVerdict, "right">;

interface EscalationDoor {
  /** Signed decisions are checked with it. */
  readonly secret: string;
  readonly now: () => EpochMs;
  /** A decision came with a right token and a wrong signature: another key, another question, too old, or damaged. */
  noteBadSignature(escalation: string, because: BadSignature): void;
}

export function escalationRoutes(escalations: Escalations, door: EscalationDoor): Route[] {
  return [...questionRoutes(escalations), ...decisionRoutes(escalations, door), ...wordRoutes(escalations)];
}

/** The short paths are those the seeds' orchestrators know. */
const folders = [
  ["/api/v1/escalations", ""],
  ["/escalations", "Short"],
] as const;

function questionRoutes(escalations: Escalations): Route[] {
  return [
    ...folders.map(([path, short]) =>
      get(path, {
        who: readers,
        id: `listEscalations${short}`,
        about: "What waits for an answer, what waits longest first; or what does not any more, the last first",
        request: {
          query: {
            state: oneOf("open when not given", ["open", "closed"]),
            agentId: text("only about this agent"),
            limit: limit(100, 1000),
            cursor: cursorText,
          },
        },
        answer: { 200: EscalationList },
        run({ query: { state, agentId, limit, cursor } }) {
          if (state === "closed") return listClosed(escalations, limit, agentId, cursor);
          const open = escalations.escalations().filter((one) => agentId === undefined || one.agentId === agentId);
          const rest = open.slice(cursor === undefined ? 0 : startAfter(open, cursor));
          const { page, next } = pageOf(rest, limit, ({ openedAt, id }) => `${openedAt} ${id}`);
          return { escalations: page, next };
        },
      }),
    ),
    get("/api/v1/escalations/{id}", {
      who: readers,
      id: "getEscalation",
      about: "One that waits for an answer, with all that is known",
      answer: { 200: EscalationNotice },
      faults: ["escalation-unknown", "escalation-closed"],
      async run({ id, reply }) {
        if (!isEscalation(id)) return tellEnd(id, null, reply);
        return (await escalations.escalationNotice(id)) ?? tellEnd(id, await escalations.howItEnded(id), reply);
      },
    }),
    post("/api/v1/escalations/{id}/acknowledge", {
      who: deciders,
      id: "acknowledgeEscalation",
      about: "A person has seen it",
      request: { body: AcknowledgeRequest },
      answer: { 200: DecisionResult },
      faults: ["escalation-unknown", "escalation-closed"],
      run: async ({ id, body, principal, reply }) =>
        tellOutcome(id, isEscalation(id) ? await escalations.acknowledge(id, principal, body.actor) : never, reply),
    }),
  ];
}

/** Lists the events of questions that were asked, without those that are open. */
async function listClosed(escalations: Escalations, limit: number, agentId?: string, cursor?: string) {
  const asked = await escalations.events({
    limit: limit + 1,
    ...stretchOf({ cursor: cursor === undefined ? undefined : placeIn(cursor) }),
    types: ["ESCALATION_TRIGGERED"],
    agentId,
  });
  const { page, next } = pageOf(asked, limit, ({ id }) => id);
  const open = new Set(escalations.escalations().map(({ id }) => id));
  const closed: ClosedEscalation[] = [];
  for (const event of page) {
    if (event.type !== "ESCALATION_TRIGGERED" || open.has(event.payload.escalation)) continue;
    const { escalation: id, agentId, incident, reason, severity } = event.payload;
    const ended = await escalations.howItEnded(id);
    if (ended !== null) closed.push({ id, agentId, incident, reason, severity, openedAt: event.time, ended });
  }
  return { escalations: closed, next };
}

/** The page goes on after the question that the page before ended with; where that is closed, after its time. */
function startAfter(open: readonly EscalationReport[], cursor: string): number {
  const [openedAt = "", id, ...rest] = cursor.split(" ");
  if (id === undefined || rest.length > 0) throw new Fault("bad-request", "cursor: `next` of the page before");
  const same = open.findIndex((one) => one.id === id);
  if (same !== -1) return same + 1;
  const later = open.findIndex((one) => one.openedAt >= openedAt);
  return later === -1 ? open.length : later;
}

const never: Answered = { outcome: "unknown" };
const isEscalation = (id: string): boolean => EscalationId.safeParse(id).success;

function decisionRoutes(escalations: Escalations, door: EscalationDoor): Route[] {
  return folders.map(([folder, short]) =>
    post(`${folder}/{id}/decision`, {
      who: deciders,
      id: `decideEscalation${short}`,
      about: "Answer it, once",
      request: { body: DecisionRequest, as: "text" },
      answer: { 200: DecisionResult },
      faults: ["escalation-unknown", "escalation-closed"],
      async run({ id, body, principal, raw, reply }) {
        const sent: unknown = body;
        const text = sent instanceof Sent ? sent.text : "";
        await refuseBadSignature(id, raw, text, door);
        const said = readRequest(DecisionRequest, text === "" ? {} : parseJson(text));
        const decision = givenBy(principal, said);
        return tellOutcome(id, isEscalation(id) ? await escalations.decide(id, decision) : never, reply);
      },
    }),
  );
}

/** The token alone is enough, but a signature that is given must be right. */
async function refuseBadSignature(
  id: string,
  { headers }: IncomingMessage,
  text: string,
  door: EscalationDoor,
): Promise<void> {
  const given = headers["rouse-signature"];
  if (given === undefined) return;
  // The id is signed too, so that a decision about one question decides no other.
  const verdict = await verifyWebhook(`${id}.${text}`, String(given), door.secret, door.now());
  if (verdict === "right") return;
  door.noteBadSignature(id, verdict);
  throw new Fault("unauthorized", wrongSignature[verdict]);
}

const wrongSignature: Readonly<Record<BadSignature, string>> = {
  wrong:
    "Rouse-Signature does not fit this request: sign `<t>.<id of the escalation>.<body>`, byte for byte as sent, with the text in $ROUSE_HOME/webhook-secret",
  "too-old": "Rouse-Signature is more than 5 minutes from our clock; sign each request when it is sent",
  malformed: "Rouse-Signature must be t=<unix seconds>,v1=<64 hex digits>",
};

function tellOutcome(escalation: string, answered: Answered, reply: FastifyReply): DecisionResult | FastifyReply {
  if (answered.outcome === "taken") return { escalation, outcome: "taken" };
  return tellEnd(escalation, answered.outcome === "over" ? answered.ended : null, reply);
}

/** Answers how it ended, or that it was never asked. */
function tellEnd(id: string, ended: EscalationEnding | null, reply: FastifyReply): FastifyReply {
  const fault = tooLate(id, ended);
  if (ended === null) throw fault;
  return answerProblem(reply, fault, { ended });
}

/** The fault for a question that is not open. `null`: it was never asked. */
export const tooLate = (id: string, ended: EscalationEnding | null): Fault =>
  ended === null
    ? new Fault("escalation-unknown", "no such escalation; `rouse escalations` lists those that are open")
    : new Fault("escalation-closed", describeEnding(id, ended));

/** How it ended, in one sentence. The id was checked; names and reasons are made printable. */
function describeEnding(id: string, ended: EscalationEnding): string {
  switch (ended.how) {
    case "decided":
      return `${id} was decided at ${ended.at}: ${ended.decision}, by ${printable(ended.actor, 100)} (${printable(ended.reason, 200)})`;
    case "unanswered":
      return `${id} is over since ${ended.at}: nobody answered for ${ended.waitedSeconds} s, and Rouse went on`;
    case "incident-closed":
      return `${id} is over since ${ended.at}: the incident ended as ${ended.ending} (${ended.because})`;
    case "overtaken":
      return `${id} is over: the agent's state changed before anybody answered`;
  }
}

/** Orders to nudge an agent and to ask about it, and what the agent itself answers. */
function wordRoutes(escalations: Escalations): Route[] {
  return [
    post("/api/v1/agents/{id}/nudge", {
      who: deciders,
      id: "nudgeAgent",
      about: "Nudge it in these words, or with the policy's reminder",
      request: { body: NudgeRequest, once: true },
      answer: { 200: NudgeResult },
      faults: ["agent-unknown"],
      run: ({ id, body, principal, keep }) => escalations.nudge(id, principal, body.message ?? null, body.actor, keep),
    }),
    post("/api/v1/agents/{id}/escalate", {
      who: owner,
      id: "escalateAgent",
      about: "Ask the orchestrator about it",
      request: { body: EscalateRequest },
      answer: { 200: EscalationResult },
      faults: ["agent-unknown", "order-refused"],
      run: ({ id, body, principal }) => escalations.escalate(id, principal, body.reason, body.actor),
    }),
    post("/api/v1/agents/{id}/check-in", {
      who: ownerAnd("itself"),
      id: "checkIn",
      about: "It fetches what it was not told yet",
      request: { body: Empty, read: "inside" },
      answer: { 200: CheckInAnswer },
      faults: ["agent-unknown"],
      run: ({ id, agent }) => escalations.checkIn(id, agent?.incarnation ?? null),
    }),
    post("/api/v1/agents/{id}/answers", {
      who: ownerAnd("itself"),
      id: "answerNudge",
      about: "Its answer to a nudge",
      request: { body: AgentAnswer },
      answer: { 200: AnswerAck },
      faults: ["agent-unknown"],
      async run({ id, body, agent }): Promise<AnswerAck> {
        await escalations.answer(id, body, agent?.incarnation ?? null);
        return { agentId: id, status: "accepted" };
      },
    }),
  ];
}
