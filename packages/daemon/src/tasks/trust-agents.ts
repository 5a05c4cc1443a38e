import type { AssignmentStanding, EpochMs, MonoMs, RouseEvent } from "@rouse/contract";
import {
  type Action,
  type Assignments,
  type JudgedAssignments,
  judgeAssignments,
  newAssignments,
  outcomeOf,
  restoreAssignments,
  type TaskRecord,
  type TaskRules,
} from "@rouse/core";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { Moment } from "../engine/steady-clock.ts";
import type { TellAgent } from "../escalations/take-words.ts";
import type { KeptMachine } from "../ports/store.ts";

interface TrustParts {
  readonly commits: GroupCommit;
  readonly saveEvents: (events: readonly RouseEvent[], time: EpochMs, agentId: string | null) => void;
  readonly intend: (action: Action, time: EpochMs) => void;
  readonly tellAgent: TellAgent;
}

const trustMachine = "trust";

/** With how many tasks each agent is trusted, by how its last ones ended. */
export function trustAgents({ commits, saveEvents, intend, tellAgent }: TrustParts) {
  const known = new Map<string, Assignments>();

  const of = (agentId: string, now: MonoMs): Assignments => known.get(agentId) ?? newAssignments(agentId, now);

  /** One that was forgotten meanwhile is removed. */
  function save(agentId: string): void {
    commits.saveMachine(trustMachine, agentId, () => {
      const assignments = known.get(agentId);
      return { record: assignments === undefined ? null : JSON.stringify(assignments), overAt: null };
    });
  }

  function keep({ assignments: next, events, actions }: JudgedAssignments, { time }: Moment): void {
    known.set(next.agentId, next);
    save(next.agentId);
    if (events.length > 0) saveEvents(events, time, next.agentId);
    for (const action of actions) intend(action, time);
  }

  return {
    restore(saved: readonly KeptMachine[]): void {
      for (const { machine, record } of saved) {
        if (machine !== trustMachine) continue;
        // One saved by an earlier version knows nothing of alerts.
        const assignments = { alert: null, alertsRaised: 0, ...JSON.parse(record) } as Assignments;
        known.set(assignments.agentId, assignments);
      }
    },
    find: (agentId: string): Assignments | null => known.get(agentId) ?? null,
    standingOf: (agentId: string, now: MonoMs): AssignmentStanding => of(agentId, now).standing,
    /** What a turn of a task says about who worked on it. */
    noteTurn(before: TaskRecord, after: TaskRecord, rules: TaskRules, moment: Moment): void {
      const ended = outcomeOf(before, after);
      if (ended === null) return;
      const judged = judgeAssignments(of(ended.agentId, moment.now), ended.outcome, moment.now, rules);
      keep(judged, moment);
      for (const event of judged.events) {
        if (event.type !== "ASSIGNMENTS_REDUCED") continue;
        const { failed, of: last } = event.payload;
        tellAgent(ended.agentId, { kind: "reflection-wanted", failed, of: last }, moment);
      }
    },
    /** It was taken out of the list. */
    forget(agentId: string, { time }: Moment): void {
      const before = known.get(agentId);
      if (before === undefined) return;
      known.delete(agentId);
      save(agentId);
      if (before.alert === null) return;
      saveEvents([{ type: "ALERT_RESOLVED", payload: { agentId, alert: before.alert } }], time, agentId);
      intend({ kind: "resolve-alert", key: `${before.alert}/resolved`, agentId }, time);
    },
    giveBack(agentId: string, actor: string, moment: Moment): void {
      const before = known.get(agentId);
      if (before === undefined) return;
      keep(restoreAssignments(before, actor, moment.now), moment);
    },
  };
}
