import { expect } from "vitest";
import { refuseKill } from "./decide/kill-gate.ts";
import { isSettled } from "./incident.ts";
import { openEscalation } from "./intervene/escalation-life.ts";
import type { Action } from "./signal.ts";
import type { Witnessed } from "./story.test-support.ts";

/** What must be true of every turn, whatever happened before. Fails at the very turn that breaks a rule. */
export function watchOver() {
  const keys = new Set<string>();
  const alerts = new Set<string>();
  const asked = new Set<string>();
  const ordered = new Set<string>();
  let restarts: number[] = [];
  let recoveries: { readonly taskId: string | null; readonly at: number }[] = [];
  let open: string | null = null;

  function onceOnly({ key }: Action): void {
    expect(keys, `${key} came twice`).not.toContain(key);
    keys.add(key);
  }

  function throughTheGate(seen: Witnessed, action: Extract<Action, { kind: "stop-agent" }>): void {
    const { before, turn, now, policy, doubt } = seen;
    const { stop, incident } = turn.record;
    expect(stop?.key).toBe(action.key);
    expect(doubt.frozen).toBe(false);
    if (action.spends) {
      const stage = incident?.stage.kind === "stopping" ? incident.stage : null;
      expect(refuseKill(turn.record, now, policy, doubt, stage?.cause === "decided")).toBeNull();
      expect({ mode: policy.mode, protected: policy.protected }).toEqual({ mode: "act", protected: false });
      expect(before.terminal?.attached).toBe(0);
    } else expect(ordered).toContain(action.key);
    const mayBeLost = policy.saving.acceptFailure || stop?.force === true;
    expect(stop?.saved?.kind).toBeOneOf(["saved", "nothing-to-save", ...(mayBeLost ? ["not-saved"] : [])]);
  }

  function withinBudget({ before, signal, now, policy }: Witnessed, { key, taskId }: Extract<Action, { kind: "restart-agent" }>) {
    if (key.startsWith("order-")) {
      recoveries = [];
      return;
    }
    expect(policy.mode).toBe("act");
    const { stage } = before.incident ?? { stage: null };
    const pressed = signal.kind === "decided" || (stage?.kind === "down" && stage.pressed);
    const isRestart = key.includes("/restart/");
    if (isRestart && !pressed) {
      expect(restarts.filter((at) => at > now - policy.restart.window).length).toBeLessThan(policy.restart.max);
      expect(now - (restarts[restarts.length - 1] ?? -Infinity)).toBeGreaterThanOrEqual(policy.restart.cooldown);
    }
    if (!isRestart && !pressed) {
      const hour = recoveries.filter(({ at }) => at > now - 3_600_000);
      expect(hour.length).toBeLessThan(policy.recovery.maxPerHour);
      const ofTask = (taskId === null ? hour : recoveries).filter((one) => one.taskId === taskId);
      expect(ofTask.length).toBeLessThan(policy.recovery.maxPerTask);
    }
    if (isRestart) restarts = [...restarts, now];
    else recoveries = [...recoveries, { taskId, at: now }];
  }

  function look(seen: Witnessed, action: Action): void {
    onceOnly(action);
    const { policy, signal } = seen;
    switch (action.kind) {
      case "raise-alert":
        alerts.add(action.key);
        return;
      case "resolve-alert":
        expect(alerts.delete(action.key.replace(/\/resolved$/, "")), `${action.key} of no alert`).toBe(true);
        return;
      case "stop-agent":
        return throughTheGate(seen, action);
      case "restart-agent":
        return withinBudget(seen, action);
      case "escalate":
        asked.add(action.escalation);
        if (policy.mode === "observe") expect(signal.kind).toBe("escalation-ordered");
        return;
      case "withdraw-escalation":
        expect(asked.delete(action.escalation), `${action.key} of no question`).toBe(true);
        return;
      case "nudge-agent":
        expect(seen.doubt.frozen).toBe(false);
        if (policy.mode === "observe") expect(signal.kind).toBeOneOf(["nudge-ordered", "decided"]);
        return;
      case "save-work":
        expect(seen.doubt.frozen).toBe(false);
        return;
    }
  }

  /** What is open is known to be open, and nothing else is. */
  function nothingLeftBehind({ record }: Witnessed["turn"]): void {
    const question = openEscalation(record);
    expect([...asked]).toEqual(question === null ? [] : [question.id]);
    const standing = [
      ...(record.alert === null ? [] : [record.alert.key]),
      ...(question?.overdueTold ? [`${question.id}/overdue`] : []),
      ...(question?.delivery === "failed" ? [`${question.id}/undelivered`] : []),
    ];
    expect([...alerts].toSorted()).toEqual(standing.toSorted());
    expect(open).toBe(record.incident?.id ?? null);
    const { handedOver, alert, health } = record;
    const isOver = health.state === "HEALTHY" || (health.state === "TERMINATED" && handedOver?.asked);
    if (handedOver !== null && !isSettled(handedOver) && !isOver)
      expect(alert?.severity).toBe("critical");
  }

  return (seen: Witnessed): void => {
    const { turn, signal } = seen;
    if (signal.kind === "ordered") ordered.add(signal.key);
    for (const event of turn.events) {
      if (event.type === "INCIDENT_OPENED") {
        expect(open).toBeNull();
        open = event.payload.incident;
      }
      if (event.type === "INCIDENT_CLOSED") {
        expect(open).toBe(event.payload.incident);
        open = null;
      }
      if (event.type === "RESTARTS_EXHAUSTED") {
        const { window, max } = seen.policy.restart;
        expect(restarts.filter((at) => at > seen.now - window).length).toBeGreaterThanOrEqual(max);
      }
    }
    for (const action of turn.actions) look(seen, action);
    nothingLeftBehind(turn);
  };
}
