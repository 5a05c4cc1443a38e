import {
  type AgentRegistration,
  type Command,
  type EpochMs,
  Fault,
  type HeartbeatAck,
  type Hold,
  type MonoMs,
  type RouseEvent,
  type StepEvent,
  toIso,
} from "@rouse/contract";
import {
  type Action,
  type ActionOutcome,
  type AgentRecord,
  beatRhythm,
  type FleetNews,
  type FleetWatch,
  type HeartbeatSignal,
  type KillBudgetKeeper,
  newRecord,
  type Reply,
  type Signal,
  supervise,
  type Turn,
} from "@rouse/core";
import type { Config } from "../config/read-config.ts";
import { auditHeadMark, type SavedSignal } from "../ports/store.ts";
import { type AuditTrail, auditHead, type NewAuditLine } from "./audit-trail.ts";
import { auditLineOf } from "./audited-events.ts";
import type { GroupCommit } from "./group-commit.ts";
import { isWorthKeeping } from "./hear-holders.ts";
import type { RecordKeeper } from "./keep-records.ts";
import type { RefusedBeat } from "./read-beat.ts";
import type { KeptSteps } from "./recall-steps.ts";
import type { Roster, Watched } from "./roster.ts";
import { hostOf, type SelfDoubt } from "./self-doubt.ts";
import type { Moment } from "./steady-clock.ts";
import type { createWakeWheel } from "./wake-wheel.ts";

export interface TurnParts {
  readonly roster: Roster;
  readonly wheel: ReturnType<typeof createWakeWheel<Watched>>;
  readonly fleet: FleetWatch;
  readonly doubt: SelfDoubt;
  readonly commits: GroupCommit;
  readonly records: RecordKeeper;
  readonly config: () => Config;
  readonly budget: KillBudgetKeeper;
  readonly audit: AuditTrail;
  /** What a turn changed about an agent concerns its tasks as well. */
  readonly afterTurn: (before: AgentRecord, after: AgentRecord, moment: Moment) => void;
  lastSignalId: number;
  lastEventId: number;
}

export interface Counters {
  beats: { accepted: number; duplicate: number; stale: number; rejected: number };
  turns: number;
  wakes: number;
  events: number;
}

/**
 * Runs turns: gives a signal to core, keeps what comes out for the next commit, and tells wheel and fleet. Everything here is
 * synchronous; the caller waits for the commit before it answers anybody.
 */
export function createTurns(parts: TurnParts) {
  const { roster, wheel, fleet, doubt, commits, records, config } = parts;
  const toWake: string[] = [];
  const counters: Counters = {
    beats: { accepted: 0, duplicate: 0, stale: 0, rejected: 0 },
    turns: 0,
    wakes: 0,
    events: 0,
  };

  function run(watched: Watched, signal: Signal, moment: Moment, text?: string): Turn {
    const before = watched.record;
    const policy = config().policyFor(before);
    const turn = supervise(before, signal, moment.now, policy, doubt.about(before, moment.now));
    counters.turns += 1;
    watched.record = turn.record;
    keep(watched, signal, turn, moment, text, policy.id);
    wheel.file(watched);
    if ((signal.kind === "heartbeat" || signal.kind === "stepped") && turn.reply?.status !== "rejected")
      fleet.hear(before.agentId, turn.record.node, moment.now);
    takeNews(fleet.note(standing(watched), moment.now), moment.time);
    if (isOfConsequence(turn) || turn.record.taskId !== before.taskId) parts.afterTurn(before, turn.record, moment);
    return turn;
  }

  /** A turn with consequences saves its record with them. One that only moved clocks saves its signal; the record follows within a minute. */
  function keep(
    watched: Watched,
    signal: Signal,
    turn: Turn,
    moment: Moment,
    text: string | undefined,
    policy: string,
  ): void {
    const draft = commits.draft();
    const body = bodyToKeep(signal, turn, text);
    if (body !== null) {
      watched.through = ++parts.lastSignalId;
      const kind = keptAs(signal);
      draft.signals.push({ id: watched.through, agentNo: watched.no, at: moment.now, time: moment.time, kind, body });
    }
    if (turn.events.length > 0) saveEvents(turn.events, moment.time, watched.record.agentId, policy);
    for (const action of turn.actions) {
      intend(action, moment.time);
      if (action.kind === "stop-agent" && action.spends) charge(watched.record, moment);
    }
    if (isOfConsequence(turn) || isWord(signal)) records.saveNow(watched);
    else if (signal.kind !== "wake") records.saveLater(watched, moment.now);
  }

  function saveEvents(
    events: readonly RouseEvent[],
    time: EpochMs,
    agentId: string | null,
    policy: string | null = null,
  ): void {
    const draft = commits.draft();
    counters.events += events.length;
    for (const event of events) {
      draft.events.push({ id: ++parts.lastEventId, time, agentId, event });
      const line = auditLineOf(event, time, policy);
      if (line !== null) addToTrail(line);
    }
  }

  function addToTrail(line: NewAuditLine): void {
    const draft = commits.draft();
    const written = parts.audit.append(line);
    draft.audit.push(written);
    draft.marks[auditHeadMark] = auditHead(written);
  }

  /** Saved with the order it was spent on, so that a crash does not fill the budget again. */
  function charge(record: AgentRecord, { now, time }: Moment): void {
    parts.budget.spend(hostOf(record), now);
    commits.draft().marks["kills"] = JSON.stringify(parts.budget.kills());
    saveEvents(parts.budget.news(now), time, null);
  }

  function intend(action: Action, time: EpochMs): void {
    commits
      .draft()
      .actions.push({ key: action.key, agentId: action.agentId, createdAt: time, body: JSON.stringify(action) });
  }

  /** What changed around an agent wakes those it concerns, which may change more; each is looked at once per round. */
  function takeNews(news: FleetNews, time: EpochMs): void {
    if (news.events.length > 0) saveEvents(news.events, time, null);
    for (const agentId of news.wake) toWake.push(agentId);
  }

  function wakeConcerned(moment: Moment): void {
    for (let agentId = toWake.pop(); agentId !== undefined; agentId = toWake.pop()) {
      const watched = roster.find(agentId);
      if (watched !== undefined) wake(watched, moment);
    }
  }

  function wake(watched: Watched, moment: Moment): void {
    counters.wakes += 1;
    run(watched, { kind: "wake" }, moment);
  }

  function enroll(
    agentId: string,
    of: {
      agentType?: string | undefined;
      node?: string | undefined;
      taskId?: string | null | undefined;
      incarnation?: number | undefined;
    },
    moment: Moment,
  ): Watched {
    const record = newRecord(
      {
        agentId,
        agentType: of.agentType ?? null,
        node: of.node ?? null,
        incarnation: of.incarnation ?? 1,
        taskId: of.taskId ?? null,
        gapsSeen: doubt.lastGap()?.id ?? 0,
      },
      moment.now,
    );
    const watched = roster.add(record);
    const { incarnation, taskId } = record;
    saveEvents([{ type: "AGENT_REGISTERED", payload: { agentId, incarnation, taskId } }], moment.time, agentId);
    records.saveNow(watched);
    if (taskId !== null) parts.afterTurn({ ...record, taskId: null }, record, moment);
    return watched;
  }

  /** An agent that nobody announced announces itself with its first beat. */
  function takeBeat(signal: HeartbeatSignal | RefusedBeat, moment: Moment, text?: string): HeartbeatAck {
    if ("refused" in signal) {
      counters.beats.rejected += 1;
      return ack(
        signal.agentId,
        moment.time,
        { status: "rejected", sequenceNumber: signal.sequenceNumber, because: "malformed" },
        [],
        signal.problem,
      );
    }
    const { agentId } = signal.beat;
    const known = roster.find(agentId);
    if (known === undefined && (signal.checksum === "wrong" || agentId.startsWith("rouse."))) {
      counters.beats.rejected += 1;
      const because = signal.checksum === "wrong" ? "wrong-checksum" : "reserved-id";
      return ack(
        agentId,
        moment.time,
        { status: "rejected", sequenceNumber: signal.beat.sequenceNumber ?? null, because },
        [],
      );
    }
    const watched = known ?? enroll(agentId, signal.beat, moment);
    const { reply } = run(watched, signal, moment, text);
    wakeConcerned(moment);
    if (reply === null) throw new Error("a heartbeat always gets a reply");
    counters.beats[reply.status] += 1;
    return ack(agentId, moment.time, reply, reply.commands);
  }

  /**
   * Each event is a turn of its own, as in a replay: what repeated in the middle of a batch is seen although the end of it is different. They are kept as
   * one signal. A life that is over has no say any more; one that is not known yet begins with its first step.
   */
  function takeSteps(agentId: string, events: readonly StepEvent[], life: number | null, moment: Moment): void {
    const known = roster.find(agentId);
    const present = known?.record.incarnation ?? 0;
    if (life !== null && life < present)
      throw new Fault("forbidden", `incarnation ${life} of ${agentId} is over; the current one is ${present}`);
    const watched = known ?? enroll(agentId, { incarnation: life ?? 1 }, moment);
    if (known !== undefined && life !== null && life > present) register({ agentId, incarnation: life }, moment);
    watched.through = ++parts.lastSignalId;
    const kept: KeptSteps = { incarnation: watched.record.incarnation, events };
    const body = JSON.stringify(kept);
    const { now: at, time } = moment;
    commits.draft().signals.push({ id: watched.through, agentNo: watched.no, at, time, kind: "steps", body });
    for (const event of events) run(watched, { kind: "stepped", events: [event] }, moment);
    wakeConcerned(moment);
    commits.schedule();
  }

  function register(registration: AgentRegistration, moment: Moment): Watched {
    const known = roster.find(registration.agentId);
    const watched = known ?? enroll(registration.agentId, registration, moment);
    const { reply } = run(watched, { kind: "registered", registration }, moment);
    if (reply?.status === "rejected") {
      throw new Fault(
        "bad-request",
        `incarnation ${registration.incarnation} of ${registration.agentId} is over; the current one is ${watched.record.incarnation}`,
      );
    }
    records.saveNow(watched);
    return watched;
  }

  /** A holder is there: for an agent nobody knew, this is how it becomes known. */
  function takeHold(hold: Hold, adopted: boolean, moment: Moment): Reply | null {
    const { agentId, agentType, taskId, incarnation } = hold;
    const watched =
      roster.find(agentId) ?? enroll(agentId, { agentType: agentType ?? undefined, taskId, incarnation }, moment);
    return take(watched, { kind: "held", hold, adopted }, moment);
  }

  /** What holders tell and people order. */
  function take(watched: Watched, signal: Signal, moment: Moment): Reply | null {
    const { reply } = run(watched, signal, moment);
    wakeConcerned(moment);
    commits.schedule();
    return reply;
  }

  return {
    takeBeat,
    takeSteps,
    register,
    take,
    takeHold,
    wake,
    wakeConcerned,
    takeNews,
    saveEvents,
    addToTrail,
    intend,
    counters,
    /** The hands report back. */
    actionDone(action: Action, outcome: ActionOutcome, moment: Moment): void {
      commits.draft().finished.push(action.key);
      const watched = action.agentId === null ? undefined : roster.find(action.agentId);
      if (watched !== undefined) run(watched, { kind: "action-outcome", key: action.key, outcome }, moment);
      commits.schedule();
    },
    lastSignalId: () => parts.lastSignalId,
    /** Before any agent has had its first turn, the fleet knows who is in it. */
    introduce: (watched: Watched, now: MonoMs): void => {
      fleet.note({ ...standing(watched), quietSince: null }, now);
    },
    standing,
  };

  function standing(watched: Watched) {
    const { record } = watched;
    const { interval, ttl } = beatRhythm(record.activity, config().policyFor(record));
    const quiet =
      record.findings.length === 0 ? undefined : record.findings.find((finding) => finding.kind === "missed-beats");
    const gone =
      record.activity.kind === "FINISHED" ||
      record.health.state === "UNRESPONSIVE" ||
      record.health.state === "TERMINATED";
    return {
      agentId: record.agentId,
      node: record.node,
      // An agent that only its holder speaks for says nothing about the path that beats take.
      watched: record.heard && !gone && (record.terminal === null || record.beats.accepted > 0),
      quietSince: quiet?.since ?? null,
      interval,
      ttl,
    };
  }
}

export type Turns = ReturnType<typeof createTurns>;

/** Text longer than this is kept as what was understood of it: nobody fills the disk with spaces. */
const longestText = 1024;

const isOfConsequence = (turn: Turn): boolean => turn.events.length > 0 || turn.actions.length > 0;

/** What people and the orchestrator say is in no signal that could be learnt again: only the record keeps it. */
const isWord = ({ kind }: Signal): boolean =>
  kind !== "wake" && kind !== "heartbeat" && kind !== "reported" && kind !== "stepped";

function keptAs(signal: Signal): SavedSignal["kind"] {
  return signal.kind === "registered" || signal.kind === "heartbeat" ? signal.kind : "holder";
}

/** Beats that were news are kept, late ones too, as they were sent; repeated and refused ones are not. */
function bodyToKeep(signal: Signal, turn: Turn, text: string | undefined): string | null {
  if (signal.kind === "held" || signal.kind === "reported" || signal.kind === "holder-lost") {
    const isNews = turn.reply === null || turn.reply.status === "accepted";
    return isNews && (signal.kind !== "reported" || isWorthKeeping(signal.report)) ? JSON.stringify(signal) : null;
  }
  if (signal.kind === "registered")
    return turn.reply?.status === "accepted" ? JSON.stringify(signal.registration) : null;
  if (signal.kind !== "heartbeat") return null;
  const status = turn.reply?.status;
  if (status !== "accepted" && status !== "stale") return null;
  return text !== undefined && text.length <= longestText ? text : JSON.stringify(signal.beat);
}

type Answer = Pick<HeartbeatAck, "status" | "sequenceNumber"> & { because: HeartbeatAck["because"] | null };

function ack(
  agentId: string,
  time: EpochMs,
  answer: Answer,
  commands: readonly Command[],
  problem?: string,
): HeartbeatAck {
  return {
    agentId,
    sequenceNumber: answer.sequenceNumber,
    status: answer.status,
    receivedAt: isoOf(time),
    commands: commands.length === 0 ? none : [...commands],
    ...(answer.because === null || answer.because === undefined ? {} : { because: answer.because }),
    ...(problem === undefined ? {} : { problem }),
  };
}

const none: Command[] = [];

/** Many beats share a millisecond; writing its date once is enough. */
let lastIso = { time: Number.NaN, text: "" };
function isoOf(time: EpochMs): string {
  if (lastIso.time !== time) lastIso = { time, text: toIso(time) };
  return lastIso.text;
}
