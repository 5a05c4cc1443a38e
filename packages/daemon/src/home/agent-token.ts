import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { canonicalJson, isAgentId, isId, type SpeechRefusal } from "@rouse/contract";

/** Whom a token speaks for: one agent, one task or none, one life. */
export interface AgentTokenClaims {
  readonly agentId: string;
  readonly taskId: string | null;
  readonly incarnation: number;
}

export const agentTokenPrefix = "rouse-agent.";
const longestToken = 1024;
/** The key is derived, so that no signature is ever made with the operator's token itself. */
const keyLabel = "rouse agent token 1";

/** A token for one agent. It is stored nowhere: the master token is enough to check it. */
export function mintAgentToken(masterToken: string, claims: AgentTokenClaims): string {
  if (!areClaims(claims)) throw new Error("a token speaks for one agent, one task or none, and one life");
  const part = Buffer.from(canonicalJson(claims)).toString("base64url");
  return `${agentTokenPrefix}${part}.${sign(masterToken, part)}`;
}

/** Whom a token speaks for; `null` when it was not made with this master token. */
export function readAgentToken(masterToken: string, token: string): AgentTokenClaims | null {
  if (token.length > longestToken || !token.startsWith(agentTokenPrefix)) return null;
  const [part, signature, ...rest] = token.slice(agentTokenPrefix.length).split(".");
  if (part === undefined || signature === undefined || rest.length > 0) return null;
  // Compared as text: the last letter of base64url has spare bits, so different texts may stand for the same bytes.
  if (!isSame(signature, sign(masterToken, part))) return null;
  return readClaims(part);
}

function readClaims(part: string): AgentTokenClaims | null {
  try {
    const said: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
    return areClaims(said) ? said : null;
  } catch {
    return null;
  }
}

/** Exactly these three fields. Checked without zod, because every `rouse spawn` makes a token. */
function areClaims(said: unknown): said is AgentTokenClaims {
  if (typeof said !== "object" || said === null || Object.keys(said).length !== 3) return false;
  const { agentId, taskId, incarnation } = said as Record<string, unknown>;
  return (
    isAgentId(agentId) &&
    (taskId === null || isId(taskId)) &&
    Number.isSafeInteger(incarnation) &&
    Number(incarnation) > 0
  );
}

function sign(masterToken: string, part: string): string {
  const key = Buffer.from(hkdfSync("sha256", masterToken, "", keyLabel, 32));
  return createHmac("sha256", key).update(part).digest("base64url");
}

function isSame(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}

export interface Overreach {
  readonly because: SpeechRefusal;
  readonly claimed: string;
}

/** A token that was issued by name is valid for the present life, whichever it is. */
export type SpokenFor = Omit<AgentTokenClaims, "incarnation"> & { readonly incarnation: number | null };

/** Whether an agent holds a task at present: a task taken from a queue is not named in its token. */
export type HoldsTask = (agentId: string, taskId: string) => boolean;

/**
 * What a message claims beyond its token. Only texts and numbers are looked at: anything else is refused later, as a
 * malformed message.
 */
export function findOverreach(claims: SpokenFor, said: Record<string, unknown>, holds: HoldsTask): Overreach | null {
  const { agentId, taskId, incarnation } = said;
  if (typeof agentId === "string" && agentId !== claims.agentId) return { because: "other-agent", claimed: agentId };
  if (typeof taskId === "string" && taskId !== claims.taskId && !holds(claims.agentId, taskId))
    return { because: "other-task", claimed: taskId };
  if (typeof incarnation === "number" && claims.incarnation !== null && incarnation !== claims.incarnation) {
    return { because: "other-life", claimed: String(incarnation) };
  }
  return null;
}
