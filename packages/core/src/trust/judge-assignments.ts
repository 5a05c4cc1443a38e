import type {
  AlertSeverity,
  AssignmentStanding,
  MonoMs,
  PolicyMode,
  RouseEvent,
  TaskPolicy,
  TaskRefusal,
} from "@rouse/contract";
import type { Machine } from "../machine.ts";
import { type Told, tellRaised, tellResolved } from "../signal.ts";
import type { TaskRecord } from "../tasks/task-record.ts";

export type TaskOutcome = "done" | "failed";

/** How many tasks an agent is trusted with, and the outcomes that this rests on. Plain data: it is saved as it is. */
type Assignments = {
  readonly agentId: string;
  /** Newest last; only the last ten count. */
  readonly outcomes: readonly TaskOutcome[];
  readonly since: MonoMs;
  /** The key of the open alert. */
  readonly alert: string | null;
  /** How many alerts there were: a key is never used twice. */
  readonly alertsRaised: number;
} & (
  | { readonly standing: Exclude<AssignmentStanding, "few"> }
  /** `endedSince`: tasks that ended since the reduction. */
  | { readonly standing: "few"; readonly endedSince: number }
);

/** The rules of the task's own policy. */
type TrustRules = Pick<TaskPolicy, "highErrorRate"> & { readonly mode: PolicyMode };

interface JudgedAssignments extends Told {
  readonly assignments: Assignments;
}

const counted = 10;
/** Fewer outcomes than this are not judged. */
const enough = 3;
/** After so many more ended tasks, the reduction has had its chance to help. */
const patience = 5;

export const newAssignments = (agentId: string, now: MonoMs): Assignments => ({
  agentId,
  outcomes: [],
  since: now,
  alert: null,
  alertsRaised: 0,
  standing: "normal",
});

/** One more task of the agent ended. */
export function judgeAssignments(
  before: Assignments,
  outcome: TaskOutcome,
  now: MonoMs,
  policy: TrustRules,
): JudgedAssignments {
  const { agentId, alert, alertsRaised } = before;
  const outcomes = [...before.outcomes, outcome].slice(-counted);
  const changed = { agentId, outcomes, since: now, alert, alertsRaised };
  if (policy.mode === "observe") return silently({ ...before, outcomes });
  const high = isHigh(outcomes, enough, policy);
  const payload = { agentId, failed: failuresOf(outcomes), of: outcomes.length };
  switch (before.standing) {
    case "normal":
      if (!high) return silently({ ...before, outcomes });
      return tellStanding({ ...changed, standing: "few", endedSince: 0 }, { type: "ASSIGNMENTS_REDUCED", payload });
    case "few": {
      if (!high) return restored({ ...changed, standing: "normal" }, "rouse");
      const endedSince = before.endedSince + 1;
      // Failures from before the reduction do not count again: the next step needs new ones.
      if (!isHigh(outcomes.slice(-endedSince), patience, policy)) return silently({ ...before, outcomes, endedSince });
      return tellStanding({ ...changed, standing: "none" }, { type: "ASSIGNMENTS_STOPPED", payload });
    }
    case "none":
      return silently({ ...before, outcomes });
  }
}

const failuresOf = (outcomes: readonly TaskOutcome[]): number => outcomes.filter((one) => one === "failed").length;

const isHigh = (
  outcomes: readonly TaskOutcome[],
  atLeast: number,
  policy: Pick<TaskPolicy, "highErrorRate">,
): boolean => outcomes.length >= atLeast && failuresOf(outcomes) / outcomes.length >= policy.highErrorRate;

/** A person trusts the agent again: earlier outcomes are forgotten. */
export function restoreAssignments(before: Assignments, actor: string, now: MonoMs): JudgedAssignments {
  const { agentId, alert, alertsRaised } = before;
  const afresh: Assignments = { ...newAssignments(agentId, now), alert, alertsRaised };
  return before.standing === "normal" ? silently(before) : restored(afresh, actor);
}

/** Whether the agent may have one more task. */
export function admitsClaim({ standing }: Pick<Assignments, "standing">, heldClaims: number): TaskRefusal | null {
  switch (standing) {
    case "normal":
      return null;
    case "few":
      return heldClaims === 0 ? null : "few-assignments";
    case "none":
      return "disabled";
  }
}

/**
 * The outcome of a task for the agent that worked on it. Only the agent's own word counts: cancelling, timeouts and
 * taking away are our doing.
 */
export function outcomeOf(
  before: TaskRecord,
  after: TaskRecord,
): { readonly agentId: string; readonly outcome: TaskOutcome } | null {
  if ("by" in before.state || !("by" in after.state)) return null;
  return { agentId: after.state.by.agentId, outcome: after.state.status === "completed" ? "done" : "failed" };
}

const silently = (assignments: Assignments): JudgedAssignments => ({ assignments, events: [], actions: [] });

const restored = (assignments: Assignments, actor: string): JudgedAssignments =>
  tellStanding(assignments, { type: "ASSIGNMENTS_RESTORED", payload: { agentId: assignments.agentId, actor } });

type StandingEvent = Extract<RouseEvent, { type: `ASSIGNMENTS_${string}` }>;

/** Every change of standing is told. Its alert replaces the one before. */
function tellStanding(after: Assignments, event: StandingEvent): JudgedAssignments {
  const { agentId } = after;
  const closed = after.alert === null ? nothing : tellResolved(after.alert, agentId);
  const wanted = wantedBy(event);
  if (wanted === null)
    return { assignments: { ...after, alert: null }, events: [event, ...closed.events], actions: closed.actions };
  const alertsRaised = after.alertsRaised + 1;
  const key = `assignments/${agentId}/${after.standing}/${alertsRaised}`;
  const raised = tellRaised(key, agentId, wanted.severity, wanted.summary);
  return {
    assignments: { ...after, alert: key, alertsRaised },
    events: [event, ...closed.events, ...raised.events],
    actions: [...closed.actions, ...raised.actions],
  };
}

const nothing = { events: [], actions: [] } as const;

function wantedBy(event: StandingEvent): { readonly severity: AlertSeverity; readonly summary: string } | null {
  switch (event.type) {
    case "ASSIGNMENTS_REDUCED":
      return { severity: "warning", summary: `${shareIn(event.payload)}: it gets one at a time` };
    case "ASSIGNMENTS_STOPPED": {
      const way = `\`rouse tasks trust ${event.payload.agentId}\``;
      return { severity: "critical", summary: `${shareIn(event.payload)}: it gets none until ${way}` };
    }
    case "ASSIGNMENTS_RESTORED":
      return null;
  }
}

const shareIn = ({ agentId, failed, of }: { agentId: string; failed: number; of: number }): string =>
  `${failed} of the last ${of} tasks of ${agentId} failed`;

export type TrustSignal =
  | { readonly kind: "task-ended"; readonly outcome: TaskOutcome; readonly rules: TrustRules }
  | { readonly kind: "given-back"; readonly actor: string };

/**
 * How many tasks an agent is trusted with, by how its last ones ended. An agent that gets fewer is asked to reflect.
 */
export const trustMachine: Machine<Assignments, TrustSignal, { readonly now: MonoMs }, null> = {
  name: "trust",
  step(before, signal, { now }) {
    const { assignments, events, actions } =
      signal.kind === "given-back"
        ? restoreAssignments(before, signal.actor, now)
        : judgeAssignments(before, signal.outcome, now, signal.rules);
    const letters = events.flatMap((event) =>
      event.type === "ASSIGNMENTS_REDUCED"
        ? [{ machine: "agent", id: event.payload.agentId, signal: wantsReflection(event.payload) }]
        : [],
    );
    return { record: assignments, reply: null, events, actions, letters };
  },
  wakeAt: () => null,
  // A record of an earlier version has no alerts.
  restore: (saved) => ({ alert: null, alertsRaised: 0, ...JSON.parse(saved) }) as Assignments,
  serialise: JSON.stringify,
};

const wantsReflection = ({ failed, of }: { failed: number; of: number }) =>
  ({ kind: "reflection-wanted", failed, of }) as const;
