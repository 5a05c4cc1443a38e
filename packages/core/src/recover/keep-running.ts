import type { MonoMs, Policy } from "@rouse/contract";
import type { Doubt } from "../doubt.ts";
import type { Intervened } from "../intervene/alert-life.ts";
import { type AgentRecord, isStartingAgain } from "../record.ts";
import { isBetweenRuns, recentRestarts, restartsAllowed } from "../restart-rule.ts";
import { reviveAfterRun } from "./restart-life.ts";

/** `--restart always`: whoever ended well is started again as well, no sooner than the cooldown allows. */
export function keepRunning(record: AgentRecord, now: MonoMs, policy: Policy, doubt: Doubt): Intervened {
  const due = nextRunDue(record, now, policy);
  if (due === null || now < due || doubt.frozen) return { record, events: [], actions: [] };
  return reviveAfterRun(record, now, policy);
}

export const mayStart = ({ mode, enabled }: Policy): boolean => mode === "act" && enabled;

/** When its next run begins; `null`: not by itself. One that could not be started is tried as often as one that fails. */
export function nextRunDue(record: AgentRecord, now: MonoMs, policy: Policy): MonoMs | null {
  if (!isBetweenRuns(record) || isStartingAgain(record)) return null;
  if (!mayStart(policy)) return null;
  const rested = record.restartedAt === null ? now : record.restartedAt + policy.restart.cooldown;
  const recent = record.restart === null ? [] : recentRestarts(record, now, policy);
  const [oldest] = recent.slice(-restartsAllowed(record, policy));
  const isSpent = oldest !== undefined && recent.length >= restartsAllowed(record, policy);
  return isSpent ? Math.max(rested, oldest + policy.restart.window) : rested;
}
