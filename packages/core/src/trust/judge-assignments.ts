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

/** How much an agent is trusted with, and the ended tasks that this rests on. Plain data: it is saved as it is. */
type Assignments = {
  readonly agentId: string;
  /** Newest last; only the last ten count. */
  readonly outcomes: readonly TaskOutcome[];
  readonly since: MonoMs;
  /** The key of the one that is open. */
  readonly alert: string | null;
  /** How many there were: a key is never used twice. */
  readonly alertsRaised: number;
} & (
  | { readonly standing: Exclude<AssignmentStanding, "few"> }
  /** `endedSince`: tasks that ended since it gets fewer. */
  | { readonly standing: "few"; readonly endedSince: number }
);

/** By what the task was watched. */
type TrustRules = Pick<TaskPolicy, "highErrorRate"> & { readonly mode: PolicyMode };

interface JudgedAssignments extends Told {
  readonly assignments: Assignments;
}

const counted = 10;
/** An agent is not judged by less. */
const enough = 3;
/** After so many more ended tasks, fewer assignments have had their chance to help. */
const patience = 5;

export const newAssignments = (agentId: string, now: MonoMs): Assignments => ({
  agentId,
  outcomes: [],
  since: now,
  alert: null,
  alertsRaised: 0,
  standing: "normal",
});

/** One more of its tasks ended. */
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
      // What it was reduced for is not held against it a second time: the next step needs new failures.
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

/** A person trusts it again: what was before is forgotten. */
export function restoreAssignments(before: Assignments, actor: string, now: MonoMs): JudgedAssignments {
  const { agentId, alert, alertsRaised } = before;
  const afresh: Assignments = { ...newAssignments(agentId, now), alert, alertsRaised };
  return before.standing === "normal" ? silently(before) : restored(afresh, actor);
}

/** Whether the agent may have one more task beside those it holds. */
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
 * What a turn of a task says about the agent that worked on it. Only its own word counts: a task that was cancelled, timed out or was taken away was
 * ended by us.
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

/** An agent gets fewer tasks, none, or as many as others again: never in silence. Its next alert takes the place of the one before. */
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

/** With how many tasks an agent is trusted, by how its last ones ended. Who gets fewer is asked to think about it. */
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
  // One saved by an earlier version knows nothing of alerts.
  restore: (saved) => ({ alert: null, alertsRaised: 0, ...JSON.parse(saved) }) as Assignments,
  serialise: JSON.stringify,
};

const wantsReflection = ({ failed, of }: { failed: number; of: number }) =>
  ({ kind: "reflection-wanted", failed, of }) as const;
