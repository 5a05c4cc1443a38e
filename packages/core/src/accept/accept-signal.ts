import type { MonoMs } from "@rouse/contract";
import type { Context } from "../context.ts";
import type { AgentRecord } from "../record.ts";
import type { Signal } from "../signal.ts";
import { acceptHeartbeat } from "./accept-heartbeat.ts";
import { type Accepted, acceptRegistration, noteClaim, noteOvertime } from "./accept-registration.ts";
import { acceptHold, acceptLoss, acceptNobodyLeft, acceptReport } from "./accept-report.ts";
import { acceptSteps } from "./accept-steps.ts";
import { forgiveGaps } from "./forgive-gaps.ts";
import { finishIfQuiet } from "./read-completion.ts";
import { markNow, noteQuiet } from "./work-clock.ts";

/** First stage: turns a signal into what is now known, without any judgement. */
export function acceptSignal(given: AgentRecord, signal: Signal, context: Context): Accepted {
  const { now, doubt } = context;
  const record = forgiveGaps(given, doubt);
  switch (signal.kind) {
    case "wake":
    case "action-outcome":
    case "ordered":
    case "nudge-ordered":
    case "reflection-wanted":
    case "escalation-ordered":
    case "decided":
    case "decided-for-all":
    case "acknowledged":
      return { record, answer: null, events: [] };
    case "answered":
      return {
        record: {
          ...record,
          life: { ...record.life, heard: true, heardAt: now },
          identity: { ...record.identity, readsCommands: true },
        },
        answer: null,
        events: [],
      };
    case "checked-in":
      return {
        record: { ...record, life: { ...record.life, heard: true, heardAt: now } },
        answer: { status: "accepted", sequence: null, because: null },
        events: [],
      };
    case "task-taken":
      // A task that was taken away need not be started.
      return {
        record: noteOvertime(
          record.task.id === signal.taskId ? { ...record, task: { ...record.task, assignedAt: null } } : record,
          signal,
          now,
        ),
        answer: null,
        events: [],
      };
    case "assigned":
      return { record: noteClaim(record, signal, now), answer: null, events: [] };
    case "checkpointed":
      return { record: noteQuiet(record, noteCheckpoint(record, signal.checkpoint, now)), answer: null, events: [] };
    case "registered":
      return acceptRegistration(record, signal, now);
    case "heartbeat":
      return acceptHeartbeat(record, signal, context);
    case "stepped":
      return acceptSteps(record, signal, context);
    case "held":
      return acceptHold(record, signal, context);
    case "reported":
      return finishIfQuiet(acceptReport(record, signal, context), context);
    case "holder-lost":
      return acceptLoss(record, signal, context);
    case "leftovers-gone":
      return acceptNobodyLeft(record, signal, context);
  }
}

/** A checkpoint counts as progress, whoever reported it. */
function noteCheckpoint(record: AgentRecord, checkpoint: string, now: MonoMs): AgentRecord {
  const mark = markNow(record.work.clock, now);
  const facts = {
    ...record.seen.facts,
    lastCheckpoint: checkpoint,
    checkpoint: mark,
    progress: mark,
    progressMoves: true,
  };
  return {
    ...record,
    life: { ...record.life, heard: true, heardAt: now },
    task: { ...record.task, checkpoint },
    seen: { ...record.seen, facts },
  };
}
