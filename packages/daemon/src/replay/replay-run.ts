import {
  type DurationMs,
  type FindingKind,
  type HealthState,
  loopKinds,
  type MonoMs,
  type Policy,
  type RouseEvent,
  type StepEvent,
  seconds,
} from "@rouse/contract";
import { type AgentRecord, type Finding, newRecord, noDoubt, type Signal, supervise } from "@rouse/core";

/** One recorded history: what happened, in order. */
export interface RecordedRun {
  readonly trace: string;
  readonly events: readonly StepEvent[];
}

export const verdicts = ["healthy", "suspect", "stuck", "failing"] as const;
export type Verdict = (typeof verdicts)[number];

const isGraver = (a: Verdict, b: Verdict): boolean => verdicts.indexOf(a) > verdicts.indexOf(b);

export type VerdictCounts = Readonly<Record<Verdict, number>>;

export function countVerdicts(runs: readonly Replayed[]): VerdictCounts {
  const counts: Record<Verdict, number> = { healthy: 0, suspect: 0, stuck: 0, failing: 0 };
  for (const { verdict } of runs) counts[verdict] += 1;
  return counts;
}

/** What was concluded at one event of a run. */
export interface Moment {
  readonly index: number;
  readonly at: MonoMs;
  readonly verdict: Verdict;
  readonly because: readonly Finding[];
}

/** Something the policy would have done, and at which event. */
interface Deed {
  readonly index: number;
  readonly at: MonoMs;
  readonly event: RouseEvent;
}

export interface Replayed {
  readonly trace: string;
  /** The gravest verdict of the whole run. */
  readonly verdict: Verdict;
  /** The event at which the verdict was first reached; `null` for a healthy run. */
  readonly index: number | null;
  /** How long after the first event that was; `null` also when the source has no clock. */
  readonly after: DurationMs | null;
  readonly because: readonly Finding[];
  /** Every change of verdict, oldest first; of a run that never settles, the first `mostKept`. */
  readonly moments: readonly Moment[];
  /** What the policy would have done; the first `mostKept`. */
  readonly actions: readonly Deed[];
  /** The count of all alerts, also of those not kept. */
  readonly alerts: number;
  readonly terminations: number;
  readonly events: number;
  /** From the first event to the last. */
  readonly lasted: DurationMs;
}

/** A run that is being replayed, event by event; its memory does not grow with the run. */
export interface Replay {
  /** Returns the verdict and why, when this event made it graver than any before. */
  take(event: StepEvent): Moment | null;
  finish(): Replayed;
}

/** Time between steps of a source without a clock: too short for any deadline to pass. */
const stepTakes = seconds(1);
const dawn: MonoMs = 0;
const mostKept = 200;

/**
 * Runs a recorded history through the daemon's own `supervise`, on virtual time: between two events the agent is looked
 * at exactly when its record asks for it.
 */
export function replayRun({ trace, events }: RecordedRun, policy: Policy): Replayed {
  const replay = startReplay(trace, policy);
  for (const event of events) replay.take(event);
  return replay.finish();
}

/** `ended`: the recording holds a whole run, so one that ends in a loop never moved on. A live agent still could. */
export function startReplay(trace: string, policy: Policy, ended = false): Replay {
  const state = { record: born(trace), now: dawn, verdict: "healthy" as Verdict, events: 0 };
  const counts = { alerts: 0, terminations: 0 };
  const moments: Moment[] = [];
  const actions: Deed[] = [];
  const timeOf = followTime();
  let worst: Moment | null = null;
  let clocked = false;

  function hear(signal: Signal, index: number): void {
    const turn = supervise(state.record, signal, { now: state.now, policy, doubt: noDoubt });
    state.record = turn.record;
    for (const event of turn.events) act(event, index);
    note(index);
  }

  function act(event: RouseEvent, index: number): void {
    if (event.type === "ALERT_RAISED") counts.alerts += 1;
    else if (event.type === "TERMINATION_ORDERED") counts.terminations += 1;
    else return;
    if (actions.length < mostKept) actions.push({ index, at: state.now, event });
  }

  function note(index: number): void {
    const { verdict, because } = judge(state.record);
    if (verdict === state.verdict) return;
    state.verdict = verdict;
    const moment = { index, at: state.now, verdict, because };
    if (isGraver(verdict, worst?.verdict ?? "healthy")) worst = moment;
    if (moments.length < mostKept || worst === moment) moments.push(moment);
  }

  /** Wakes the agent whenever its record asks for it, up to the next event. */
  function passUntil(next: MonoMs, index: number): void {
    for (let at = state.record.wakeAt; at !== null && at <= next; at = state.record.wakeAt) {
      state.now = Math.max(at, state.now);
      hear({ kind: "wake" }, index);
      if (state.record.wakeAt !== null && state.record.wakeAt <= state.now) break;
    }
    state.now = Math.max(next, state.now);
  }

  return {
    take(event) {
      const before = worst;
      const index = state.events;
      passUntil(timeOf(event, state.now), Math.max(0, index - 1));
      state.events += 1;
      clocked ||= typeof event.at === "number";
      hear({ kind: "stepped", events: [event] }, index);
      return worst === before ? null : worst;
    },
    finish: () => {
      if (ended) noteEnding();
      return outcome();
    },
  };

  function noteEnding(): void {
    // An agent whose last step is a message without a call has given its answer: it did not end in the middle.
    if (state.record.seen.steps?.owner === "person") return;
    const standing = state.verdict === "suspect" ? judge(state.record).because.filter(isPlainLoop) : [];
    if (standing.length === 0 || !isGraver("stuck", worst?.verdict ?? "healthy")) return;
    const because = standing.map((finding) => ({ ...finding, text: `${finding.text}, and the run ended there` }));
    worst = { index: Math.max(0, state.events - 1), at: state.now, verdict: "stuck", because };
    moments.push(worst);
  }

  function outcome(): Replayed {
    return {
      trace,
      verdict: worst?.verdict ?? "healthy",
      index: worst?.index ?? null,
      after: worst === null || !clocked ? null : worst.at - dawn,
      because: worst?.because ?? [],
      moments,
      actions,
      ...counts,
      events: state.events,
      lasted: state.now - dawn,
    };
  }
}

/** Loops of the very same step. Rows of different failures, or words without calls, may lead out of a loop. */
const plainLoops: ReadonlySet<FindingKind> = new Set<FindingKind>([
  "identical-step",
  "identical-call",
  "identical-change",
  "cycle",
  "error-class",
  "blocked-call",
]);
const isPlainLoop = ({ kind }: Finding): boolean => plainLoops.has(kind);

const born = (agentId: string): AgentRecord =>
  newRecord({ agentId, agentType: null, node: null, incarnation: 1, taskId: null, gapsSeen: 0 }, dawn);

/** Time that runs backwards in a recording stands still. A run begins at its first event, whatever its clock says. */
function followTime(): (event: StepEvent, now: MonoMs) => MonoMs {
  let zero: number | null = null;
  let first = true;
  return ({ at }, now) => {
    const isFirst = first;
    first = false;
    if (typeof at === "number") {
      zero ??= at - now / 1000;
      return (at - zero) * 1000;
    }
    return zero === null && !isFirst ? now + stepTakes : now;
  };
}

const byState: Readonly<Partial<Record<HealthState, Verdict>>> = { STUCK: "stuck", FAILING: "failing" };

function judge({ health, health: { findings } }: AgentRecord): { verdict: Verdict; because: readonly Finding[] } {
  const grave = byState[health.state];
  if (grave !== undefined)
    return { verdict: grave, because: findings.filter(({ level }) => level === "stuck" || level === "failing") };
  const suspicions = findings.filter(isSuspicion);
  return suspicions.length === 0 ? { verdict: "healthy", because: [] } : { verdict: "suspect", because: suspicions };
}

const loops: ReadonlySet<FindingKind> = new Set<FindingKind>(loopKinds);

/** Repetition, and whatever else makes an agent worth watching. */
const isSuspicion = ({ level, kind }: Finding): boolean =>
  level === "degraded" || level === "unresponsive" || (level === "note" && loops.has(kind));
