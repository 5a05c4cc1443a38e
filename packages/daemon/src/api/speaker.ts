import type { Onlooker } from "../fleet/fleet-sight.ts";
import type { SpokenFor } from "../home/agent-token.ts";
import type { IssuedToken, PingRhythm, TokenRole } from "../home/issued-tokens.ts";

export type AgentSpeaker = { readonly kind: "agent" } & SpokenFor;

/** Good for one thing: to say that this agent lives. */
export type PingSpeaker = { readonly kind: "ping"; readonly agentId: string; readonly every: PingRhythm | null };

/** Who asks, as far as a token shows it. Without a name, `owner` is whoever has `$ROUSE_HOME/token`. */
export type Speaker =
  | { readonly kind: Exclude<TokenRole, "agent" | "ping">; readonly name: string | null }
  | AgentSpeaker
  | PingSpeaker
  | { readonly kind: "anyone" };

export const owner: Speaker = { kind: "owner", name: null };
export const anyone: Speaker = { kind: "anyone" };

export function speakerWith({ role, name, agentId, every }: IssuedToken): Speaker | null {
  if (role !== "agent" && role !== "ping") return { kind: role, name };
  if (role === "ping") return agentId === null ? null : { kind: "ping", agentId, every: every ?? null };
  return agentId === null ? null : { kind: "agent", agentId, taskId: null, incarnation: null };
}

/** A token that was made for one life was made where its agent runs. */
export const onlookerOf = ({ agentId, incarnation }: AgentSpeaker): Onlooker => ({
  agentId,
  elsewhere: incarnation === null,
});

/** How a speaker stands in events and in the audit trail. */
export function principalOf(speaker: Speaker): string {
  if (speaker.kind === "anyone") return "anyone";
  if (speaker.kind === "agent" || speaker.kind === "ping") return `${speaker.kind}:${speaker.agentId}`;
  return speaker.name === null ? speaker.kind : `${speaker.kind}:${speaker.name}`;
}
