import { type HealthState, type MonoMs, type Policy, type RouseEvent, type StepEvent, seconds } from "@rouse/contract";
import { type AgentRecord, type Finding, newRecord, noDoubt, type Signal, supervise } from "@rouse/core";

/** One recorded history: what happened, in order. */
export interface RecordedRun {
  readonly trace: string;
  readonly events: readonly StepEvent[];
}

export const verdicts = ["healthy", "suspect", "stuck", "failing"] as const;
export type Verdict = (typeof verdicts)[number];

/** What was concluded at one event of a run. */
export interface Moment {
  readonly index: number;
  readonly at: MonoMs;
  readonly verdict: Verdict;
  readonly because: readonly Finding[];
}

export interface Replayed {
  readonly trace: string;
  /** The gravest verdict of the whole run. */
  readonly verdict: Verdict;
  /** The event at which it was first reached; `null` for a healthy run. */
  readonly index: number | null;
  readonly because: readonly Finding[];
  /** Every change of verdict, oldest first. */
  readonly moments: readonly Moment[];
  /** What the policy would have done. */
  readonly actions: readonly RouseEvent[];
  readonly events: number;
}

/** Where a source has no clock, its steps come this far apart: too close for any clock to run out. */
const stepTakes = seconds(1);
const dawn: MonoMs = 0;

/**
 * Runs a recorded history through the very code the daemon runs, on virtual time: between two events the agent is looked at exactly when its record asks for it.
 */
export function replayRun(run: RecordedRun, policy: Policy): Replayed {
  const state = { record: born(run.trace), now: dawn };
  const moments: Moment[] = [];
  const actions: RouseEvent[] = [];
  let worst: Verdict = "healthy";

  function take(signal: Signal, index: number): void {
    const turn = supervise(state.record, signal, state.now, policy, noDoubt);
    state.record = turn.record;
    actions.push(...turn.events.filter(({ type }) => type === "ALERT_RAISED" || type.startsWith("TERMINATION")));
    note(index);
  }

  function note(index: number): void {
    const { verdict, because } = judge(state.record);
    const last = moments[moments.length - 1]?.verdict ?? "healthy";
    if (verdict !== last) moments.push({ index, at: state.now, verdict, because });
    if (verdicts.indexOf(verdict) > verdicts.indexOf(worst)) worst = verdict;
  }

  /** Looks when the record wants to be looked at, up to the next event. */
  function passUntil(next: MonoMs, index: number): void {
    for (let at = state.record.wakeAt; at !== null && at <= next; at = state.record.wakeAt) {
      state.now = Math.max(at, state.now);
      take({ kind: "wake" }, index);
      if (state.record.wakeAt !== null && state.record.wakeAt <= state.now) break;
    }
    state.now = Math.max(next, state.now);
  }

  for (const [index, event] of run.events.entries()) {
    const at = timeOf(event, index);
    passUntil(at, Math.max(0, index - 1));
    take({ kind: "stepped", events: [event] }, index);
  }
  const reached = moments.find(({ verdict }) => verdict === worst);
  return {
    trace: run.trace,
    verdict: worst,
    index: reached?.index ?? null,
    because: reached?.because ?? [],
    moments,
    actions,
    events: run.events.length,
  };
}

const born = (agentId: string): AgentRecord =>
  newRecord({ agentId, agentType: null, node: null, incarnation: 1, taskId: null, gapsSeen: 0 }, dawn);

/** Time that runs backwards in a recording stands still here. */
const timeOf = (event: StepEvent, index: number): MonoMs =>
  typeof event.at === "number" ? event.at * 1000 : index * stepTakes;

const byState: Readonly<Partial<Record<HealthState, Verdict>>> = { STUCK: "stuck", FAILING: "failing" };

function judge({ health, findings }: AgentRecord): { verdict: Verdict; because: readonly Finding[] } {
  const grave = byState[health.state];
  if (grave !== undefined)
    return { verdict: grave, because: findings.filter(({ level }) => level === "stuck" || level === "failing") };
  const suspicions = findings.filter(isSuspicion);
  return suspicions.length === 0 ? { verdict: "healthy", because: [] } : { verdict: "suspect", because: suspicions };
}

/** Things that repeat, and whatever else makes an agent worth watching. */
const isSuspicion = ({ level, kind }: Finding): boolean =>
  level === "degraded" || (level === "note" && loopNotes.has(kind));

const loopNotes: ReadonlySet<Finding["kind"]> = new Set<Finding["kind"]>([
  "identical-step",
  "identical-call",
  "identical-change",
  "cycle",
  "error-class",
  "error-streak",
  "blocked-call",
  "replies-only",
  "same-words",
  "no-novelty",
]);
