import { type DurationMs, describeDuration, hours, type MonoMs, minutes } from "@rouse/contract";
import { type HandedOver, isSettled } from "../incident.ts";
import { type AgentRecord, isOver } from "../record.ts";
import { type Intervened, raiseAlert } from "./alert-life.ts";

const firstAfter: DurationMs = minutes(5);
const longestBetween: DurationMs = hours(8);
/** Fewer calls and tokens than these may be the end of what it was doing. */
const worthTelling = { calls: 10, tokens: 20_000 };

/** A person has it in hand, and it goes on spending: they are told how much, again after twice the time. */
export function tellBurn(record: AgentRecord, now: MonoMs): Intervened {
  const { agentId, health } = record;
  const { handedOver } = record.ladder;
  const { facts } = record.seen;
  const due = burnDueAt(record);
  if (handedOver === null || due === null || now < due) return { record, events: [], actions: [] };
  const { at, burn = nothingBurnt } = handedOver;
  const calls = Math.max(0, (facts.toolCallCount ?? 0) - burn.calls);
  const tokens = Math.max(0, (facts.tokenCount ?? 0) - burn.tokens);
  const told: AgentRecord = {
    ...record,
    ladder: { ...record.ladder, handedOver: { ...handedOver, burn: { ...burn, told: burn.told + 1 } } },
  };
  if (calls < worthTelling.calls && tokens < worthTelling.tokens) return { record: told, events: [], actions: [] };
  const spent = `${calls} calls and ${tokens} tokens in ${describeDuration(now - at)}`;
  const summary = `${agentId} still waits for a person and burns on: ${spent} since they were called (${handedOver.illness})`;
  return raiseAlert(told, { cause: health.reason, severity: "critical" }, summary, now);
}

export function burnDue(record: AgentRecord, now: MonoMs): MonoMs | null {
  const due = burnDueAt(record);
  return due !== null && due > now ? due : null;
}

const nothingBurnt: NonNullable<HandedOver["burn"]> = { calls: 0, tokens: 0, told: 0 };

/** After 5, 15, 35 … minutes; `null` when nobody is to be told. */
function burnDueAt(record: AgentRecord): MonoMs | null {
  const { handedOver } = record.ladder;
  if (handedOver === null || handedOver.burn === undefined || isSettled(handedOver)) return null;
  if (isOver(record) || record.work.activity.kind === "FINISHED") return null;
  let due = handedOver.at;
  for (let n = 0; n <= Math.min(handedOver.burn.told, mostSteps); n++)
    due += Math.min(firstAfter * 2 ** n, longestBetween);
  return due + Math.max(0, handedOver.burn.told - mostSteps) * longestBetween;
}

/** By then the time between two is the longest there is. */
const mostSteps = 8;
