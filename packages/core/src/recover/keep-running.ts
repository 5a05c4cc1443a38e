import type { MonoMs, Policy } from "@rouse/contract";
import type { Context } from "../context.ts";
import type { Intervened } from "../intervene/alert-life.ts";
import { type AgentRecord, isStartingAgain } from "../record.ts";
import { isBetweenRuns, recentRestarts, restartsAllowed } from "../restart-rule.ts";
import { reviveAfterRun } from "./restart-life.ts";

/** `--restart always`: whoever ended well is started again as well, no sooner than the cooldown allows. */
export function keepRunning(record: AgentRecord, context: Context): Intervened {
  const { now, doubt } = context;
  const due = nextRunDue(record, context);
  if (due === null || now < due || doubt.frozen) return { record, events: [], actions: [] };
  return reviveAfterRun(record, context);
}

export const mayStart = ({ mode, enabled }: Policy): boolean => mode === "act" && enabled;

/** When its next run begins; `null`: not by itself. One that could not be started is tried as often as one that fails. */
export function nextRunDue(record: AgentRecord, context: Context): MonoMs | null {
  const { now, policy } = context;
  if (!isBetweenRuns(record) || isStartingAgain(record)) return null;
  if (!mayStart(policy)) return null;
  const rested = record.recovery.restartedAt === null ? now : record.recovery.restartedAt + policy.restart.cooldown;
  const recent = record.ending.restart === null ? [] : recentRestarts(record, context);
  const [oldest] = recent.slice(-restartsAllowed(record, policy));
  const isSpent = oldest !== undefined && recent.length >= restartsAllowed(record, policy);
  return isSpent ? Math.max(rested, oldest + policy.restart.window) : rested;
}
