import { refuseKill } from "./decide/kill-gate.ts";
import { isSettled } from "./incident.ts";
import { openEscalation } from "./intervene/escalation-life.ts";
import type { Action } from "./signal.ts";
import type { Witnessed } from "./story.test-support.ts";

/** Cheaper than an expectation, of which there would be millions. */
function must(holds: boolean, rule: string): asserts holds {
  if (!holds) throw new Error(`broken: ${rule}`);
}

type Stop = Extract<Action, { kind: "stop-agent" }>;
type Restart = Extract<Action, { kind: "restart-agent" }>;

/** Rules for every turn, whatever happened before. Fails at the very turn that breaks one. */
export function watchOver() {
  const keys = new Set<string>();
  const alerts = new Set<string>();
  const asked = new Set<string>();
  const budget = countStarts();
  let open: string | null = null;

  function look(seen: Witnessed, action: Action): void {
    must(!keys.has(action.key), `${action.key} came twice`);
    keys.add(action.key);
    const { policy, signal, doubt } = seen;
    const isWatchedOnly = policy.mode === "observe";
    switch (action.kind) {
      case "raise-alert":
        alerts.add(action.key);
        return;
      case "resolve-alert":
        return must(alerts.delete(action.key.replace(/\/resolved$/, "")), `${action.key} ends no alert`);
      case "stop-agent":
        return throughTheGate(seen, action);
      case "restart-agent":
        return budget.spend(seen, action);
      case "escalate":
        asked.add(action.escalation);
        return must(!isWatchedOnly || signal.kind === "escalation-ordered", "asked in mode observe");
      case "withdraw-escalation":
        return must(asked.delete(action.escalation), `${action.key} ends no question`);
      case "nudge-agent":
        must(!doubt.frozen, "nudged in a freeze");
        return must(
          !isWatchedOnly || signal.kind === "nudge-ordered" || signal.kind === "decided",
          "nudged in observe",
        );
      case "save-work":
        return must(!doubt.frozen, "work saved in a freeze");
    }
  }

  /** The known open alerts and questions are exactly those that are open. */
  function nothingLeftBehind({ record }: Witnessed["turn"]): void {
    const question = openEscalation(record);
    must(asked.size === (question === null ? 0 : 1), "a question is left behind");
    must(question === null || asked.has(question.id), "a question is left behind");
    const standing = [
      ...(record.health.alert === null ? [] : [record.health.alert.key]),
      ...(question?.overdueTold ? [`${question.id}/overdue`] : []),
      ...(question?.delivery === "failed" ? [`${question.id}/undelivered`] : []),
    ];
    must(alerts.size === standing.length && standing.every((key) => alerts.has(key)), "an alert is left behind");
    must(open === (record.ladder.incident?.id ?? null), "an incident is left behind");
    const { health } = record;
    const { handedOver } = record.ladder;
    const { alert } = record.health;
    const isOver = health.state === "HEALTHY" || (health.state === "TERMINATED" && handedOver?.asked);
    if (handedOver !== null && !isSettled(handedOver) && !isOver)
      must(alert?.severity === "critical", "a person's matter without a critical alert");
  }

  return (seen: Witnessed): void => {
    for (const event of seen.turn.events) {
      if (event.type === "INCIDENT_OPENED") {
        must(open === null, "two incidents at once");
        open = event.payload.incident;
      }
      if (event.type === "INCIDENT_CLOSED") {
        must(open === event.payload.incident, "an incident closed that was not open");
        open = null;
      }
      if (event.type === "RESTARTS_EXHAUSTED") budget.mustBeUsedUp(seen);
    }
    for (const action of seen.turn.actions) look(seen, action);
    nothingLeftBehind(seen.turn);
  };
}

function throughTheGate({ before, turn, now, policy, doubt }: Witnessed, { key, spends }: Stop): void {
  const { stop } = turn.record.ending;
  const { incident } = turn.record.ladder;
  must(stop !== null && stop.key === key, "an order to stop that is not on record");
  must(!doubt.frozen, "stopped in a freeze");
  if (spends) {
    const decided = incident?.stage.kind === "stopping" && incident.stage.cause === "decided";
    must(refuseKill(turn.record, { now, policy, doubt }, decided) === null, "stopped against the gate");
    must(policy.mode === "act" && !policy.protected, "stopped against the policy");
    must(before.seen.terminal?.attached === 0, "stopped before a person's eyes");
  } else must(stop.cause === "ordered" && stop.actor === "operator", "stopped without budget or order");
  const mayBeLost = policy.saving.acceptFailure || stop.force;
  must(stop.saved !== null && (mayBeLost || stop.saved.kind !== "not-saved"), "stopped before its work was saved");
}

/** Restarts and recoveries as they happened, counted independently. */
function countStarts() {
  let restarts: number[] = [];
  let restartedAt = Number.NEGATIVE_INFINITY;
  let recoveries: { readonly taskId: string | null; readonly at: number }[] = [];

  const recent = (now: number, window: number): number => restarts.filter((at) => at > now - window).length;

  function mustBeLeft({ key, taskId }: Restart, { now, policy }: Witnessed): void {
    const { restart, recovery } = policy;
    if (key.includes("/restart/")) {
      must(recent(now, restart.window) < restart.max, "more restarts than the budget");
      must(now - restartedAt >= restart.cooldown, "restarted within the cooldown");
      return;
    }
    const inHour = recoveries.filter(({ at }) => at > now - 3_600_000);
    const ofTask = (taskId === null ? inHour : recoveries).filter((one) => one.taskId === taskId);
    must(inHour.length < recovery.maxPerHour, "more recoveries in the hour than the budget");
    must(ofTask.length < recovery.maxPerTask, "more recoveries of the task than the budget");
    const rest = (recovery.backoff[Math.min(ofTask.length, recovery.backoff.length) - 1] ?? 0) * 0.9;
    must(now - (ofTask.at(-1)?.at ?? -Infinity) >= rest, "recovered sooner than the backoff");
  }

  return {
    spend(seen: Witnessed, action: Restart): void {
      // A person's order charges no budget and resets the counts.
      if (action.key.endsWith("/restart")) {
        recoveries = [];
        restarts = [];
      } else {
        must(seen.policy.mode === "act", "started again against the policy");
        const { stage } = seen.before.ladder.incident ?? { stage: null };
        const pressed = seen.signal.kind === "decided" || (stage?.kind === "down" && stage.pressed);
        if (!pressed) mustBeLeft(action, seen);
        if (action.key.includes("/restart/")) {
          restarts.push(seen.now);
          restartedAt = seen.now;
        } else recoveries = [...recoveries, { taskId: action.taskId, at: seen.now }];
      }
    },
    mustBeUsedUp: ({ now, policy }: Witnessed): void =>
      must(recent(now, policy.restart.window) >= policy.restart.max, "given up while budget was left"),
  };
}
