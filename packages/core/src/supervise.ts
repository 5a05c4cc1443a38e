import type { MonoMs, Policy } from "@rouse/contract";
import { acceptSignal } from "./accept/accept-signal.ts";
import { assessHealth } from "./assess/assess-health.ts";
import { earliest } from "./assess/look.ts";
import { chooseResponse } from "./decide/choose-response.ts";
import { chooseRestart } from "./decide/choose-restart.ts";
import { chooseStop } from "./decide/choose-stop.ts";
import type { Doubt } from "./doubt.ts";
import { carryOut } from "./intervene/alert-life.ts";
import { askToCheckIn } from "./intervene/check-in.ts";
import { carryOutStop } from "./intervene/stop-life.ts";
import type { AgentRecord } from "./record.ts";
import { noticeReturn } from "./recover/notice-return.ts";
import { carryOutRestart, noticeRestart } from "./recover/restart-life.ts";
import type { Reply, Signal, Turn } from "./signal.ts";

/**
 * One turn for one agent: accept, assess, decide, intervene, recover. Pure: the same record, signal, time, policy and doubt give the same
 * turn, live, simulated or replayed. `record.wakeAt` is the next moment that could change the verdict by itself.
 */
export function supervise(before: AgentRecord, signal: Signal, now: MonoMs, policy: Policy, doubt: Doubt): Turn {
  const accepted = acceptSignal(before, signal, now, policy, doubt);
  const { answer } = accepted;
  if (answer?.status === "rejected") {
    return { record: accepted.record, reply: toReply(answer, []), events: accepted.events, actions: [] };
  }
  const assessed = assessHealth(before, accepted.record, now, policy, doubt);
  const response = chooseResponse(assessed.record, policy);
  const intervened = carryOut(assessed.record, response, signal, now);
  const checkedIn = askToCheckIn(intervened.record, signal, doubt);
  const hands = checkedIn.record.terminal === null ? none : useHands(checkedIn.record, signal, now, policy, doubt);
  const record = hands.record ?? checkedIn.record;
  return {
    record,
    reply: answer === null ? null : toReply(answer, checkedIn.commands),
    events: join(
      accepted.events,
      assessed.events,
      intervened.events,
      hands.events,
      noticeReturn(before, record, now),
      noticeRestart(before, record),
    ),
    actions: join(intervened.actions, hands.actions),
  };
}

const none = { record: null, events: [], actions: [] };

/** What can be done to an agent whose processes we hold: stop them, start them again. */
function useHands(before: AgentRecord, signal: Signal, now: MonoMs, policy: Policy, doubt: Doubt) {
  const stop = chooseStop(before, signal, now, policy, doubt);
  const stopped = carryOutStop(before, stop, signal, now, policy);
  const decision = chooseRestart(stopped.record, signal, now, policy, doubt);
  const restarted = carryOutRestart(stopped.record, decision, signal, now, policy);
  const { record } = restarted;
  const until = earliest(stop.kind === "refuse" ? stop.until : null, decision.kind === "wait" ? decision.until : null);
  return {
    record: until === null ? record : { ...record, wakeAt: earliest(record.wakeAt, until) },
    events: join(stopped.events, restarted.events),
    actions: join(stopped.actions, restarted.actions),
  };
}

/** Only the first stage: what a saved signal taught, without judging again what was judged when it came. For resuming after a crash. */
export function relearn(before: AgentRecord, signal: Signal, now: MonoMs, policy: Policy, doubt: Doubt): AgentRecord {
  return acceptSignal(before, signal, now, policy, doubt).record;
}

function toReply(
  answer: { status: Reply["status"]; sequence: number | null; because: Reply["because"] },
  commands: Reply["commands"],
): Reply {
  return { status: answer.status, sequenceNumber: answer.sequence, because: answer.because, commands };
}

function join<T>(...lists: readonly (readonly T[])[]): readonly T[] {
  const filled = lists.filter((list) => list.length > 0);
  return filled.length === 1 ? (filled[0] ?? []) : filled.flat();
}
