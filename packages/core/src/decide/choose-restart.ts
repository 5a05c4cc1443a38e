import type { MonoMs, Policy, RestartCause } from "@rouse/contract";
import type { Doubt } from "../doubt.ts";
import type { AgentRecord } from "../record.ts";
import type { Signal } from "../signal.ts";

/** Whether to start a gone agent again. */
export type RestartDecision =
  | { readonly kind: "restart"; readonly because: RestartCause; readonly key: string; readonly attempt: number }
  | { readonly kind: "exhausted"; readonly attempts: number }
  | { readonly kind: "wait"; readonly until: MonoMs }
  | { readonly kind: "nothing" };

const nothing: RestartDecision = { kind: "nothing" };

/**
 * An agent whose process is gone without having finished is started again the same way: at once, then no sooner than the cooldown allows, and so many
 * times in the window. One that runs in a person's terminal is that person's to start.
 */
export function chooseRestart(
  record: AgentRecord,
  signal: Signal,
  now: MonoMs,
  policy: Policy,
  doubt: Doubt,
): RestartDecision {
  const { terminal } = record;
  if (terminal === null || terminal.exit === null || isRestarting(record) || doubt.frozen) return nothing;
  const order = orderKey(record, signal);
  if (order !== null) return { kind: "restart", because: "ordered", key: `${order}/restart`, attempt: 0 };
  // Not by the reason of its health: one that was UNRESPONSIVE before keeps the reason it had.
  if (!record.findings.some(({ kind }) => kind === "process-exited")) return nothing;
  if (terminal.foreground || policy.mode !== "act" || record.restart?.problem != null) return nothing;
  const recent = recentRestarts(record, now, policy);
  if (recent.length >= policy.restart.max) return { kind: "exhausted", attempts: recent.length };
  const last = recent[recent.length - 1];
  const until = last === undefined ? now : last + policy.restart.cooldown;
  if (now < until) return { kind: "wait", until };
  const key = `${record.agentId}/${record.incarnation}/restart`;
  return { kind: "restart", because: "process-exited", key, attempt: recent.length + 1 };
}

/** Expire first, then count. */
export const recentRestarts = (record: AgentRecord, now: MonoMs, policy: Policy): readonly MonoMs[] =>
  record.restarts.filter((at) => at > now - policy.restart.window);

const isRestarting = (record: AgentRecord): boolean => record.restart !== null && record.restart.problem === null;

/**
 * Each order has a key of its own, so that a second one after a failure is not taken for the first. One that was to be stopped first waits for the
 * answer; beside survivors nothing is started.
 */
function orderKey({ stop, restart }: AgentRecord, signal: Signal): string | null {
  if (signal.kind === "ordered") return signal.order === "restart" ? signal.key : null;
  if (stop === null || !stop.thenRestart || restart !== null) return null;
  return stop.outcome?.kind === "stopped" || stop.outcome?.kind === "already-over" ? stop.key : null;
}
