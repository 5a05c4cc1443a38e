import type { SpokenFor } from "../home/agent-token.ts";
import type { IssuedToken, TokenRole } from "../home/issued-tokens.ts";

export type AgentSpeaker = { readonly kind: "agent" } & SpokenFor;

/** Who asks, as far as a token shows it. Without a name, `owner` is whoever has `$ROUSE_HOME/token`. */
export type Speaker =
  | { readonly kind: Exclude<TokenRole, "agent">; readonly name: string | null }
  | AgentSpeaker
  | { readonly kind: "anyone" };

export const owner: Speaker = { kind: "owner", name: null };
export const anyone: Speaker = { kind: "anyone" };

export function speakerWith({ role, name, agentId }: IssuedToken): Speaker | null {
  if (role !== "agent") return { kind: role, name };
  return agentId === null ? null : { kind: "agent", agentId, taskId: null, incarnation: null };
}

/** How a speaker stands in events and in the audit trail. */
export function principalOf(speaker: Speaker): string {
  if (speaker.kind === "anyone") return "anyone";
  if (speaker.kind === "agent") return `agent:${speaker.agentId}`;
  return speaker.name === null ? speaker.kind : `${speaker.kind}:${speaker.name}`;
}
