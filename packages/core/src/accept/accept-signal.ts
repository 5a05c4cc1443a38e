import type { MonoMs } from "@rouse/contract";
import { noteBreaker } from "../breakers/open-breakers.ts";
import type { Context } from "../context.ts";
import { type AgentRecord, withSeen } from "../record.ts";
import type { Signal } from "../signal.ts";
import { acceptHeartbeat } from "./accept-heartbeat.ts";
import { type Accepted, acceptRegistration, hearNow, learnt, noteClaim, noteTaken } from "./accept-registration.ts";
import { acceptHeld, acceptHolderLost, acceptLeftoversGone, acceptReport } from "./accept-report.ts";
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
    case "recovery-reset":
      return learnt(record);
    case "breaker-changed":
      return learnt(withSeen(record, { breakers: noteBreaker(record.seen.breakers, signal) }));
    case "answered":
      return learnt({ ...hearNow(record, now), identity: { ...record.identity, readsCommands: true } });
    case "checked-in":
      return { ...learnt(hearNow(record, now)), answer: { status: "accepted", sequence: null, because: null } };
    case "task-taken":
      return learnt(noteTaken(record, signal, now));
    case "assigned":
      return learnt(noteClaim(record, signal, now));
    case "checkpointed":
      return learnt(noteQuiet(record, noteCheckpoint(record, signal.checkpoint, now)));
    case "registered":
      return acceptRegistration(record, signal, now);
    case "heartbeat":
      return acceptHeartbeat(record, signal, context);
    case "stepped":
      return acceptSteps(record, signal, context);
    case "held":
      return acceptHeld(record, signal, context);
    case "reported":
      return finishIfQuiet(acceptReport(record, signal, context), context);
    case "holder-lost":
      return acceptHolderLost(record, signal, context);
    case "leftovers-gone":
      return acceptLeftoversGone(record, signal, context);
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
    ...hearNow(record, now),
    task: { ...record.task, checkpoint },
    seen: { ...record.seen, facts },
  };
}
