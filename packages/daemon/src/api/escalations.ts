import {
  AcknowledgeRequest,
  AgentAnswer,
  type AnswerAck,
  DecisionRequest,
  type DecisionResult,
  type EpochMs,
  EscalateRequest,
  type EscalationEnding,
  EscalationId,
  type EscalationNotice,
  Fault,
  NudgeRequest,
} from "@rouse/contract";
import { verifyWebhook, type WebhookVerdict } from "@rouse/sdk";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Answered, Words } from "../escalations/take-words.ts";
import { givenBy } from "../orders/note-orders.ts";
import type { AgentOf, PrincipalOf } from "./agents.ts";

import { tooLate } from "./describe-ending.ts";
import { parseJson } from "./parse-json.ts";
import { toProblem } from "./problem.ts";
import { readRequest } from "./read-request.ts";

/** Questions about agents, and who may be asked for what. */
export interface Escalations
  extends Pick<Words, "escalations" | "decide" | "acknowledge" | "nudge" | "escalate" | "answer" | "checkIn"> {
  /** One that waits for an answer, with all that is known; `null` when it does not wait (any more). */
  escalationNotice(id: string): Promise<EscalationNotice | null>;
  /** `null` when it was never asked. */
  howItEnded(id: string): Promise<EscalationEnding | null>;
}

export type BadSignature = Exclude<WebhookVerdict, "right">;

export interface EscalationDoor {
  readonly agentOf: AgentOf;
  readonly principalOf: PrincipalOf;
  /** What decisions that carry a signature are checked with. */
  readonly secret: string;
  readonly now: () => EpochMs;
  /** Somebody with the token sent a decision that was signed by somebody else, for another question or long ago, or was damaged. */
  noteBadSignature(escalation: string, because: BadSignature): void;
}

type WithId = { Params: { id: string }; Querystring: Record<string, string | undefined> };

export function addEscalationRoutes(app: FastifyInstance, escalations: Escalations, door: EscalationDoor): void {
  addQuestions(app, escalations, door);
  addDecisions(app, escalations, door);
  addWords(app, escalations, door);
}

/** The short paths are those the seeds' orchestrators know. */
const lists = ["/api/v1/escalations", "/escalations"];
const decisions = ["/api/v1/escalations/:id/decision", "/escalations/:id/decision"];

function addQuestions(app: FastifyInstance, escalations: Escalations, { principalOf }: EscalationDoor): void {
  for (const path of lists) {
    app.get<WithId>(path, (request) => {
      const { agentId } = request.query;
      const open = escalations.escalations();
      return { escalations: agentId === undefined ? open : open.filter((one) => one.agentId === agentId) };
    });
  }
  app.get<WithId>("/api/v1/escalations/:id", async (request, reply) => {
    const { id } = request.params;
    if (!isEscalation(id)) return tellEnd(id, null, reply);
    return (await escalations.escalationNotice(id)) ?? tellEnd(id, await escalations.howItEnded(id), reply);
  });
  app.post<WithId>("/api/v1/escalations/:id/acknowledge", async (request, reply) => {
    const { id } = request.params;
    const { actor } = readRequest(AcknowledgeRequest, request.body);
    const acknowledge = () => escalations.acknowledge(id, principalOf(request.raw), actor);
    return tellOutcome(id, isEscalation(id) ? await acknowledge() : never, reply);
  });
}

const never: Answered = { outcome: "unknown" };
const isEscalation = (id: string): boolean => EscalationId.safeParse(id).success;

/** A body as it was sent: a signature is over these very bytes. */
class Sent {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

function addDecisions(app: FastifyInstance, escalations: Escalations, door: EscalationDoor): void {
  // In a scope of its own, because it reads bodies in a way of its own.
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", { parseAs: "string" }, (_, body, done) => done(null, new Sent(String(body))));
    for (const path of decisions) {
      scope.post<WithId>(path, async (request, reply) => {
        const { id } = request.params;
        const text = request.body instanceof Sent ? request.body.text : "";
        await refuseBadSignature(request, text, door);
        const said = readRequest(DecisionRequest, text === "" ? {} : parseJson(text));
        const decision = givenBy(door.principalOf(request.raw), said);
        return tellOutcome(id, isEscalation(id) ? await escalations.decide(id, decision) : never, reply);
      });
    }
  });
}

/** The token alone is enough; a signature that is given must be right, or something is wrong on the way. */
async function refuseBadSignature(request: FastifyRequest<WithId>, text: string, door: EscalationDoor): Promise<void> {
  const given = request.headers["rouse-signature"];
  if (given === undefined) return;
  const { id } = request.params;
  // With the id, so that what was meant for one question decides no other.
  const verdict = await verifyWebhook(`${id}.${text}`, String(given), door.secret, door.now());
  if (verdict === "right") return;
  door.noteBadSignature(id, verdict);
  throw new Fault("unauthorized", signatureTrouble[verdict]);
}

const signatureTrouble: Readonly<Record<BadSignature, string>> = {
  wrong:
    "Rouse-Signature does not fit this request: sign `<t>.<id of the escalation>.<body>`, byte for byte as sent, with the text in $ROUSE_HOME/webhook-secret",
  "too-old": "Rouse-Signature is more than 5 minutes from our clock; sign each request when it is sent",
  malformed: "Rouse-Signature must be t=<unix seconds>,v1=<64 hex digits>",
};

function tellOutcome(escalation: string, answered: Answered, reply: FastifyReply): DecisionResult | FastifyReply {
  if (answered.outcome === "taken") return { escalation, outcome: "taken" };
  return tellEnd(escalation, answered.outcome === "over" ? answered.ended : null, reply);
}

/** Over, and how; or never asked. */
function tellEnd(id: string, ended: EscalationEnding | null, reply: FastifyReply): FastifyReply {
  const fault = tooLate(id, ended);
  if (ended === null) throw fault;
  return reply.code(409).send({ ...toProblem(fault), ended });
}

function addWords(app: FastifyInstance, escalations: Escalations, { agentOf, principalOf }: EscalationDoor): void {
  app.post<WithId>("/api/v1/agents/:id/nudge", (request) => {
    const { actor, message } = readRequest(NudgeRequest, request.body);
    return escalations.nudge(request.params.id, principalOf(request.raw), message ?? null, actor);
  });
  app.post<WithId>("/api/v1/agents/:id/escalate", (request) => {
    const { actor, reason } = readRequest(EscalateRequest, request.body);
    return escalations.escalate(request.params.id, principalOf(request.raw), reason, actor);
  });
  app.post<WithId>("/api/v1/agents/:id/check-in", (request) =>
    escalations.checkIn(request.params.id, agentOf(request.raw)?.incarnation ?? null),
  );
  app.post<WithId>("/api/v1/agents/:id/answers", async (request): Promise<AnswerAck> => {
    const { id } = request.params;
    const answer = readRequest(AgentAnswer, request.body);
    await escalations.answer(id, answer, agentOf(request.raw)?.incarnation ?? null);
    return { agentId: id, status: "accepted" };
  });
}
