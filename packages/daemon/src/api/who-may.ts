import { Fault } from "@rouse/contract";
import type { TokenRole } from "../home/issued-tokens.ts";

const owner = ["owner"] as const;
const readers = ["owner", "orchestrator", "viewer"] as const;
const readersAndAgents = [...readers, "agent"] as const;
const deciders = ["owner", "orchestrator"] as const;
const speakers = ["owner", "agent"] as const;
const pingers = ["ping"] as const;

/**
 * Who may ask for what. A route that is not named here does not start. An agent's token is good for its own agent, task and life only: which those are
 * is looked at beside this table.
 */
const table: Readonly<Record<string, readonly TokenRole[]>> = {
  "GET /livez": readersAndAgents,
  "GET /readyz": readersAndAgents,
  "GET /metrics": readers,
  // Of an agent, what its policy lets it see of the fleet.
  "GET /api/health/status": readersAndAgents,
  "GET /api/health/agents": readers,
  "GET /api/health/tasks": readers,
  "GET /api/v1/openapi.json": readers,
  "GET /api/v1/events": readers,
  "GET /api/v1/audit": readers,
  "GET /api/v1/audit/head": readers,
  // Addresses of webhooks stand in it, and their paths are often secrets.
  "GET /api/v1/config": owner,
  "POST /api/v1/freeze": owner,
  "POST /api/v1/thaw": owner,

  // What a tool asks for comes in again with the same token, and is looked up here like everything else.
  "POST /mcp": readersAndAgents,
  "GET /mcp": readersAndAgents,
  "DELETE /mcp": readersAndAgents,

  // The token stands in the path: its agent is looked at by the guard.
  "GET /ping/:agent/:token": pingers,
  "POST /ping/:agent/:token": pingers,

  "POST /api/v1/heartbeats": speakers,
  "POST /api/v1/agents": speakers,
  "GET /api/v1/agents": readersAndAgents,
  "GET /api/v1/agents/:id": readersAndAgents,
  "DELETE /api/v1/agents/:id": owner,
  "GET /api/v1/agents/:id/why": readersAndAgents,
  "GET /api/v1/agents/:id/history": readersAndAgents,
  "GET /api/v1/agents/:id/heartbeats": readersAndAgents,
  "GET /api/v1/agents/:id/steps": readersAndAgents,
  "POST /api/v1/agents/:id/steps": speakers,
  "POST /api/v1/agents/:id/answers": speakers,
  "POST /api/v1/agents/:id/check-in": speakers,
  "POST /api/v1/agents/:id/nudge": deciders,
  "POST /api/v1/agents/:id/escalate": owner,
  "POST /api/v1/agents/:id/terminate": owner,
  "POST /api/v1/agents/:id/recover": owner,
  "POST /api/v1/agents/:id/assignments/restore": owner,

  "GET /escalations": readers,
  "GET /api/v1/escalations": readers,
  "GET /api/v1/escalations/:id": readers,
  "POST /escalations/:id/decision": deciders,
  "POST /api/v1/escalations/:id/decision": deciders,
  "POST /api/v1/escalations/:id/acknowledge": deciders,

  "GET /api/v1/tasks": readersAndAgents,
  "POST /api/v1/tasks": owner,
  "GET /api/v1/tasks/:id": readersAndAgents,
  "GET /api/v1/tasks/:id/recovery": readers,
  "POST /api/v1/tasks/:id/recover": owner,
  "POST /api/v1/tasks/:id/cancel": owner,
  "POST /api/v1/tasks/:id/reassign": owner,
  "POST /api/v1/tasks/:id/block": owner,
  "POST /api/v1/tasks/:id/unblock": owner,
  "POST /api/v1/tasks/:id/retry": owner,
  "POST /api/v1/tasks/claim-next": speakers,
  "POST /api/v1/tasks/:id/claim": speakers,
  "POST /api/v1/tasks/:id/refresh": speakers,
  "POST /api/v1/tasks/:id/update": speakers,
  "POST /api/v1/tasks/:id/complete": speakers,
  "POST /api/v1/tasks/:id/fail": speakers,
  "POST /api/v1/tasks/:id/release": speakers,
  "GET /api/v1/tasks/:id/checkpoints": readersAndAgents,
  "POST /api/v1/tasks/:id/checkpoints": speakers,
  "GET /api/v1/tasks/:id/checkpoints/verify": readersAndAgents,
  "GET /api/v1/checkpoints/:id": readersAndAgents,
};

/** `route`: the path as it was laid out, such as /api/v1/agents/:id; not what was typed, which can be written in many ways. */
const rolesOf = (method: string, route: string): readonly TokenRole[] | undefined =>
  table[`${method === "HEAD" ? "GET" : method} ${route}`];

export const mayAsk = (role: TokenRole, method: string, route: string): boolean =>
  rolesOf(method, route)?.includes(role) ?? false;

/** Called for every route as it is added: nobody gets in through one that was forgotten. */
export function refuseUnnamed(method: string, route: string): void {
  if (rolesOf(method, route) === undefined) throw new Error(`who-may.ts does not say who may ${method} ${route}`);
}

export const refuseRole = (role: TokenRole, asked: string): Fault =>
  new Fault("forbidden", `a token of role ${role} is not for ${asked}; \`rouse token --help\` says what each role may`);
