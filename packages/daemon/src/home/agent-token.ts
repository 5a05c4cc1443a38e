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

/** A token for one agent. Nothing has to run or be written down for it: whoever has the master token can check it. */
export function mintAgentToken(masterToken: string, claims: AgentTokenClaims): string {
  if (!areClaims(claims)) throw new Error("a token speaks for one agent, one task or none, and one life");
  const part = Buffer.from(canonicalJson(claims)).toString("base64url");
  return `${agentTokenPrefix}${part}.${sign(masterToken, part)}`;
}

/** Whom it speaks for, or `null` when it was not made with this master token. */
export function readAgentToken(masterToken: string, token: string): AgentTokenClaims | null {
  if (token.length > longestToken || !token.startsWith(agentTokenPrefix)) return null;
  const [part, signature, ...rest] = token.slice(agentTokenPrefix.length).split(".");
  if (part === undefined || signature === undefined || rest.length > 0) return null;
  // As text: the last letter of base64url has bits to spare, so different texts may stand for the same bytes.
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

/** Not one word more or less. Checked without zod, because every `rouse spawn` makes a token. */
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

/** A token that was issued by name is good for whichever life is the present one. */
export type SpokenFor = Omit<AgentTokenClaims, "incarnation"> & { readonly incarnation: number | null };

/** Whether a task is this agent's at present: who took it from a queue has no token that names it. */
export type HoldsTask = (agentId: string, taskId: string) => boolean;

/**
 * What of a message is not this token's to say. Only names that could be somebody's count: what is not even a text or a number is refused later,
 * as the malformed message it is.
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
