import { acceptSignal } from "./accept/accept-signal.ts";
import { assessHealth } from "./assess/assess-health.ts";
import { climbLadder } from "./climb-ladder.ts";
import type { Context } from "./context.ts";
import { chooseResponse } from "./decide/choose-response.ts";
import { containAgent } from "./intervene/after-hand-over.ts";
import { alertNeed, carryOut, unchanged } from "./intervene/alert-life.ts";
import { askToCheckIn, giveCommands } from "./intervene/give-commands.ts";
import { noticeLostNudge } from "./intervene/nudge-life.ts";
import { isStanding } from "./limit.ts";
import type { Machine } from "./machine.ts";
import { readRecord } from "./read-record.ts";
import type { AgentRecord } from "./record.ts";
import { noticeRestart, noticeReturn } from "./recover/restart-life.ts";
import { isAtRest, noticeGate } from "./recovery-gate.ts";
import { isBetweenRuns } from "./restart-rule.ts";
import type { Reply, Signal, Turn } from "./signal.ts";

/**
 * One turn for one agent: accept, assess, decide, intervene, recover. Pure: the same record, signal and context give
 * the same turn, live, simulated or replayed. `record.wakeAt` is the next moment that could change the verdict by
 * itself.
 */
export function supervise(before: AgentRecord, signal: Signal, context: Context): Turn {
  const { now, policy, doubt } = context;
  const accepted = acceptSignal(before, signal, context);
  const { answer } = accepted;
  if (answer?.status === "rejected") {
    return { record: accepted.record, reply: toReply(answer, []), events: accepted.events, actions: [] };
  }
  const assessed = assessHealth(before, accepted.record, context);
  const response = chooseResponse(assessed.record, context);
  const alerted = carryOut(assessed.record, response, signal, now);
  const climbed = isCalm(alerted.record, signal)
    ? unchanged(alerted.record)
    : climbLadder(alerted.record, signal, context);
  const contained = containAgent(climbed.record, signal, context);
  const checkedIn = askToCheckIn(contained.record, signal, doubt);
  const told = giveCommands(checkedIn.record, signal, context);
  const { record } = told;
  const needed = alertNeed(before, record, policy);
  return {
    record,
    reply: answer === null ? null : toReply(answer, join(checkedIn.commands, told.commands)),
    events: join(
      accepted.events,
      assessed.events,
      alerted.events,
      climbed.events,
      contained.events,
      told.events,
      needed.events,
      noticeLostNudge(before, record, now),
      noticeReturn(before, record, now),
      noticeRestart(before, record, now),
      noticeGate(before, record),
    ),
    actions: join(alerted.actions, climbed.actions, contained.actions, needed.actions),
  };
}

/** Nearly every beat of nearly every agent: healthy, nothing under way, nothing said. The ladder is skipped. */
function isCalm(record: AgentRecord, signal: Signal): boolean {
  return (
    record.health.state === "HEALTHY" &&
    record.ladder.incident === null &&
    record.ladder.handedOver === null &&
    record.ladder.nudge === null &&
    record.ending.stop === null &&
    record.ending.restart === null &&
    !isStanding(record.seen.limit) &&
    !isBetweenRuns(record) &&
    (record.recovery.gate === null || isAtRest(record.recovery.gate)) &&
    (signal.kind === "wake" || (signal.kind === "heartbeat" && signal.beat.answer === undefined))
  );
}

/** Runs the first stage only: what a saved signal taught, without judging it again. For resuming after a crash. */
export function relearn(before: AgentRecord, signal: Signal, context: Context): AgentRecord {
  return acceptSignal(before, signal, context).record;
}

function toReply(
  answer: { status: Reply["status"]; sequence: number | null; because: Reply["because"] },
  commands: Reply["commands"],
): Reply {
  return { status: answer.status, sequenceNumber: answer.sequence, because: answer.because, commands };
}

function join<T>(...lists: readonly (readonly T[])[]): readonly T[] {
  let last: readonly T[] = [];
  let filled = 0;
  for (const list of lists) {
    if (list.length === 0) continue;
    last = list;
    filled += 1;
  }
  return filled <= 1 ? last : lists.flat();
}

export const agentMachine: Machine<AgentRecord, Signal, Context, Reply | null> = {
  name: "agent",
  step: supervise,
  wakeAt: ({ wakeAt }) => wakeAt,
  restore: readRecord,
  serialise: JSON.stringify,
};
