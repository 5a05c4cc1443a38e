import type { BreakerSource, BreakerState, MonoMs } from "@rouse/contract";

/** One breaker of an agent that is not closed, as the agent's own record keeps it. */
export interface OpenBreaker {
  readonly operation: string;
  readonly state: Exclude<BreakerState, "CLOSED">;
  readonly source: Exclude<BreakerSource, "rouse">;
  /** When it came into this state. */
  readonly since: MonoMs;
  /** When the failures began that opened it last. */
  readonly failingSince: MonoMs;
  /** When it was last closed. */
  readonly unsettledSince: MonoMs;
  /** Until when nothing is let through; `null`: not known. */
  readonly retryAt: MonoMs | null;
  /** From then on it says nothing about now, unless something is called; `null`: its agent named no time. */
  readonly agesOutAt: MonoMs | null;
}

/** The letter of a breaker to its agent. */
export type BreakerChanged = { readonly kind: "breaker-changed" } & (
  | OpenBreaker
  | { readonly operation: string; readonly state: "CLOSED" }
);

/** An agent that invents operations does not fill its record; the breakers that matter most are kept. */
const mostKept = 16;

export type Guarded = "tools" | "tool" | "checkpoints" | "api" | "other";

/** What a breaker guards, by the first part of its operation. */
export function guardedBy(operation: string): Guarded {
  const [kind, target] = operation.split("/", 2);
  if (kind === "tool_execution") return target === undefined ? "tools" : "tool";
  if (kind === "checkpoint_write") return "checkpoints";
  return kind === "external_api" ? "api" : "other";
}

const mattersFirst: readonly Guarded[] = ["tools", "checkpoints", "tool", "api", "other"];

/** The agent's breakers that are not closed, after one of them changed; those that matter most first. */
export function noteBreaker(known: readonly OpenBreaker[], changed: BreakerChanged): readonly OpenBreaker[] {
  const others = known.filter(({ operation }) => operation !== changed.operation);
  if (changed.state === "CLOSED") return others.length === known.length ? known : others;
  const { kind: _, ...breaker } = changed;
  const rank = ({ operation }: OpenBreaker): number => mattersFirst.indexOf(guardedBy(operation));
  return [...others, breaker].sort((a, b) => rank(a) - rank(b)).slice(0, mostKept);
}

/** Those that still say something about now. */
export const openNow = (breakers: readonly OpenBreaker[], now: MonoMs): readonly OpenBreaker[] =>
  breakers.filter(({ agesOutAt }) => agesOutAt === null || agesOutAt > now);

/** The agent's newest checkpoints may be nowhere but in its memory. */
export const mayLackCheckpoints = (breakers: readonly OpenBreaker[]): boolean =>
  breakers.some(({ operation }) => guardedBy(operation) === "checkpoints");
