import type { DurationMs, MonoMs } from "@rouse/contract";
import type { Context } from "../context.ts";
import { jitterOf } from "../jitter.ts";
import type { AgentRecord } from "../record.ts";
import { recentRestarts, restartsAllowed } from "../restart-rule.ts";

/** Whether an agent that is down may be started again now. */
export type Revival =
  | { readonly kind: "start"; readonly attempt: number }
  | { readonly kind: "wait"; readonly until: MonoMs }
  | { readonly kind: "exhausted"; readonly attempts: number };

/** One whose process went without our doing: at once, then no sooner than the cooldown allows, and so many times in the window. */
export function chooseRestart(record: AgentRecord, context: Context): Revival {
  const { now, policy } = context;
  const recent = recentRestarts(record, context);
  if (recent.length >= restartsAllowed(record, policy)) return { kind: "exhausted", attempts: recent.length };
  return notBefore(record.recovery.restartedAt, policy.restart.cooldown, now, recent.length + 1);
}

/** One we stopped because it got nowhere or broke things: so many times for one task, so many in an hour, and longer between each. */
export function chooseRecovery(record: AgentRecord, { now, policy }: Context): Revival {
  const { maxPerTask, maxPerHour, backoff } = policy.recovery;
  const ofTask = record.recovery.attempts.filter(
    ({ taskId, at }) => taskId === record.task.id && (taskId !== null || at > now - hour),
  );
  const ofHour = record.recovery.attempts.filter(({ at }) => at > now - hour);
  if (ofTask.length >= maxPerTask) return { kind: "exhausted", attempts: ofTask.length };
  if (ofHour.length >= maxPerHour) return { kind: "exhausted", attempts: ofHour.length };
  const wait = backoff[Math.min(ofTask.length, backoff.length) - 1] ?? 0;
  const attempt = ofTask.length + 1;
  const jittered = Math.round(wait * (0.9 + 0.2 * jitterOf(`${record.agentId}/${attempt}`)));
  return notBefore(ofTask[ofTask.length - 1]?.at ?? null, jittered, now, attempt);
}

const hour: DurationMs = 3_600_000;

function notBefore(last: MonoMs | null, rest: DurationMs, now: MonoMs, attempt: number): Revival {
  const until = last === null ? now : last + rest;
  return now < until ? { kind: "wait", until } : { kind: "start", attempt };
}
