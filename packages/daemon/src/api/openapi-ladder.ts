import {
  AcknowledgeRequest,
  AgentAnswer,
  AuditList,
  CheckInAnswer,
  Checkpoint,
  CheckpointList,
  CheckpointRequest,
  CheckpointVerdict,
  CheckpointWithState,
  DecisionRequest,
  EscalateRequest,
  EscalationList,
  EscalationNotice,
  EscalationResult,
  NudgeRequest,
  NudgeResult,
  OrderAnswer,
  OrderRequest,
  RecoveryStatus,
} from "@rouse/contract";

/** What interventions, checkpoints and the audit trail add to the schemas of the API's document. */
export const ladderSchemas = {
  AgentAnswer,
  AcknowledgeRequest,
  Audit: AuditList,
  CheckInAnswer,
  Checkpoint,
  Checkpoints: CheckpointList,
  CheckpointRequest,
  CheckpointVerdict,
  CheckpointWithState,
  DecisionRequest,
  EscalateRequest,
  Escalations: EscalationList,
  EscalationNotice,
  EscalationResult,
  NudgeRequest,
  NudgeResult,
  OrderAnswer,
  OrderRequest,
  RecoveryStatus,
};

type Operations = Readonly<Record<string, object>>;

/** How the document is written; it belongs to `openapi.ts`. */
interface Writing {
  readonly ref: (name: keyof typeof ladderSchemas) => object;
  readonly json: (schema: object) => object;
  readonly get: (summary: string, schema: object, parameters?: object[]) => Operations;
  readonly post: (summary: string, body: object, schema: object, parameters?: object[]) => Operations;
  readonly query: (name: string, description: string, type?: string) => object;
  readonly withEitherToken: (operations: Operations) => Operations;
}

const id = { name: "id", in: "path", required: true, schema: { type: "string" } };

export function ladderPaths(writing: Writing): Record<string, object> {
  return { ...orderPaths(writing), ...escalationPaths(writing), ...checkpointPaths(writing), ...auditPaths(writing) };
}

function orderPaths({ ref, json, post, get, withEitherToken }: Writing): Record<string, object> {
  const order = (summary: string) => post(summary, json(ref("OrderRequest")), ref("OrderAnswer"), [id]);
  return {
    "/api/v1/agents/{id}/nudge": post("Put words to it", json(ref("NudgeRequest")), ref("NudgeResult"), [id]),
    "/api/v1/agents/{id}/answers": withEitherToken(
      post("Its answer to a nudge", json(ref("AgentAnswer")), { type: "object" }, [id]),
    ),
    "/api/v1/agents/{id}/check-in": withEitherToken(
      post("It fetches what it was not told yet", json({ type: "object" }), ref("CheckInAnswer"), [id]),
    ),
    "/api/v1/agents/{id}/escalate": post(
      "Ask the orchestrator about it",
      json(ref("EscalateRequest")),
      ref("EscalationResult"),
      [id],
    ),
    "/api/v1/agents/{id}/terminate": order("End it, with every process it left; its work is saved first"),
    "/api/v1/agents/{id}/recover": order("End it and bring it back from its last checkpoint"),
    "/api/v1/tasks/{id}/recover": order("Bring back whoever works on this task"),
    "/api/v1/tasks/{id}/recovery": get("How far that has come", ref("RecoveryStatus"), [id]),
  };
}

function escalationPaths({ ref, json, get, post, query }: Writing): Record<string, object> {
  const answer = post("Answer it, once", json(ref("DecisionRequest")), { type: "object" }, [id]);
  const list = get("What waits for an answer", ref("Escalations"), [query("agentId", "only about this agent")]);
  return {
    "/api/v1/escalations": list,
    "/escalations": list,
    "/api/v1/escalations/{id}": get("One, with all that is known", ref("EscalationNotice"), [id]),
    "/api/v1/escalations/{id}/decision": answer,
    "/escalations/{id}/decision": answer,
    "/api/v1/escalations/{id}/acknowledge": post(
      "A person has seen it",
      json(ref("AcknowledgeRequest")),
      { type: "object" },
      [id],
    ),
  };
}

function checkpointPaths({ ref, json, get, post, query, withEitherToken }: Writing): Record<string, object> {
  return {
    "/api/v1/tasks/{id}/checkpoints": {
      ...withEitherToken(post("Save where it stands", json(ref("CheckpointRequest")), ref("Checkpoint"), [id])),
      ...withEitherToken(
        get("Its chain, newest first", ref("Checkpoints"), [id, query("limit", "1 to 1000", "integer")]),
      ),
    },
    "/api/v1/tasks/{id}/checkpoints/verify": withEitherToken(
      get("Every hash of the chain worked out again", ref("CheckpointVerdict"), [id]),
    ),
    "/api/v1/checkpoints/{id}": withEitherToken(get("One, with its state", ref("CheckpointWithState"), [id])),
  };
}

function auditPaths({ ref, get, query }: Writing): Record<string, object> {
  return {
    "/api/v1/audit": get("What was done and refused, by whom and why", ref("Audit"), [
      query("after", "only lines with a larger number", "integer"),
      query("limit", "1 to 1000; 100 when not given", "integer"),
      query("agentId", "only about this agent or task"),
    ]),
    "/api/v1/audit/head": get("Where the trail ends, signed, where its seals are kept, and the key to check with", {
      type: "object",
    }),
  };
}
