import { fleetId, type HealthState, type Policy, type RouseEvent } from "@rouse/contract";
import { type Delays, mean, summarise } from "./summarise.ts";

const second = 1000;
const minute = 60 * second;

/** Nudges of the last hour count for the next incident as well. Three in vain, before somebody is asked, take up to 40 min more. */
const nudgesCountFor = 100 * minute;

interface Parts {
  readonly now: () => number;
  readonly violated: (text: string) => void;
  readonly policyOf: (agentId: string) => Policy;
  /** How much of the time since then the monitor had a fault of its own or was frozen, with the amnesty that follows each. */
  readonly excusedSince: (at: number) => number;
  readonly isAtLimit: (agentId: string) => boolean;
}

interface OpenIncident {
  readonly id: string;
  readonly openedAt: number;
  /** Time that was granted on the way: questions asked, answers that gave more time, attempts to bring it back. */
  granted: number;
  overdueTold: boolean;
  /** Somebody was asked about it: the same is asked again for the same reason. */
  asked: boolean;
}

export interface LadderFindings {
  readonly incidents: number;
  readonly endings: Readonly<Record<string, number>>;
  readonly nudges: number;
  readonly escalations: number;
  readonly terminations: number;
  readonly restarts: number;
  readonly refusals: Readonly<Record<string, number>>;
  /** From the verdict to the first thing done about it, in seconds. */
  readonly intervention: Delays & { readonly mean: number };
}

/** Reads the ladder's own story and holds it to its promises: every incident ends, nothing is done twice, no limit is passed or pretended. */
export function judgeLadder({ now, violated, policyOf, excusedSince, isAtLimit }: Parts) {
  const open = new Map<string, OpenIncident>();
  const illSince = new Map<string, number>();
  const delays: number[] = [];
  const endings: Record<string, number> = {};
  const refusals: Record<string, number> = {};
  const counts = { incidents: 0, nudges: 0, escalations: 0, terminations: 0, restarts: 0 };
  const reasons = new Map<string, string>();
  const decided = new Set<string>();
  const pressed = new Set<string>();
  /** Agents that were handed over because their budget was used up, and were not started since. */
  const givenUp = new Set<string>();
  /** Agents that were stopped and not started again: a decision to bring one back is about that. */
  const down = new Set<string>();
  const restarts = new Map<string, number[]>();
  const recoveries = new Map<string, { taskId: string | null; at: number }[]>();
  /** By life: the order to start it again that has not failed. */
  const starting = new Map<string, string>();
  const keys = new Set<string>();
  /** By agent: the question that is open, and until when it is to be waited for. */
  const questions = new Map<string, { readonly id: string; readonly until: number }>();
  const nudgedAt = new Map<string, number>();
  /** When it was killed together with many. */
  const diedWithMany = new Map<string, number>();

  const agentOf = (incident: string): string => incident.slice(0, incident.lastIndexOf("/"));
  const count = (of: Record<string, number>, name: string): void => {
    of[name] = (of[name] ?? 0) + 1;
  };

  function intervene(agentId: string): void {
    const since = illSince.get(agentId);
    if (since === undefined) return;
    illSince.delete(agentId);
    delays.push((now() - since) / second);
  }

  function noteState(agentId: string, to: HealthState): void {
    if (to === "TERMINATED") down.add(agentId);
    else down.delete(agentId);
    const ill = to === "UNRESPONSIVE" || to === "STUCK" || to === "FAILING";
    if (!ill) return void illSince.delete(agentId);
    if (policyOf(agentId).mode !== "observe" && !open.has(agentId)) illSince.set(agentId, now());
  }

  function grant(agentId: string, time: number): void {
    const incident = open.get(agentId);
    if (incident !== undefined) incident.granted += time;
  }

  function openIncident(agentId: string, id: string): void {
    counts.incidents += 1;
    const before = open.get(agentId);
    if (before !== undefined) violated(`${id} was opened while ${before.id} was open`);
    open.set(agentId, { id, openedAt: now(), granted: 0, overdueTold: false, asked: false });
  }

  function closeIncident(agentId: string, id: string, ending: string, because: string): void {
    if (open.get(agentId)?.id !== id) violated(`${id} was closed and not open`);
    open.delete(agentId);
    questions.delete(agentId);
    count(endings, ending === "recovered" ? because : `person: ${because}`);
    if (because.endsWith("-exhausted")) givenUp.add(agentId);
    if (ending !== "recovered") intervene(agentId);
    else illSince.delete(agentId);
  }

  function once(key: string, what: string): void {
    if (keys.has(key)) violated(`${what} ${key} was decided twice`);
    keys.add(key);
  }

  function noteRestart({
    agentId,
    incarnation,
    key,
    because,
  }: Extract<RouseEvent, { type: "RESTART_ORDERED" }>["payload"]): void {
    counts.restarts += 1;
    once(key, "the start");
    const life = `${agentId}/${incarnation}`;
    if (starting.has(life)) violated(`${key} follows ${starting.get(life)}, which has not failed`);
    starting.set(life, key);
    if (because === "ordered") forgetAttempts(agentId);
    else if (because === "recovery") countRecovery(agentId);
    else if (because !== "limit-over") countRestart(agentId);
    grant(agentId, 2 * minute + policyOf(agentId).restart.cooldown);
    intervene(agentId);
  }

  /** A person's order to bring an agent back starts its counts anew. */
  function forgetAttempts(agentId: string): void {
    recoveries.delete(agentId);
    restarts.delete(agentId);
  }

  function countRestart(agentId: string): void {
    givenUp.delete(agentId);
    const { window, max } = policyOf(agentId).restart;
    const recent = (restarts.get(agentId) ?? []).filter((at) => at > now() - window + 5 * second);
    if (recent.length >= max && !pressed.delete(agentId))
      violated(`${agentId} was started again ${recent.length + 1} times within an hour`);
    restarts.set(agentId, [...recent, now()]);
  }

  function countRecovery(agentId: string): void {
    givenUp.delete(agentId);
    const { maxPerTask, maxPerHour, backoff, probation } = policyOf(agentId).recovery;
    const taskId = taskOf.get(agentId) ?? null;
    const all = recoveries.get(agentId) ?? [];
    const ofTask = all.filter((one) => one.taskId === taskId && (taskId !== null || one.at > now() - 60 * minute));
    const ofHour = all.filter(({ at }) => at > now() - 60 * minute + 5 * second);
    if ((ofTask.length >= maxPerTask || ofHour.length >= maxPerHour) && !pressed.delete(agentId))
      violated(
        `${agentId} was brought back ${ofTask.length + 1} times for one task, ${ofHour.length + 1} within an hour`,
      );
    recoveries.set(agentId, [...all, { taskId, at: now() }]);
    grant(agentId, 1.1 * (backoff.at(-1) ?? 0) + probation);
  }

  const taskOf = new Map<string, string | null>();

  function noteExhausted(agentId: string, attempts: number): void {
    const { window, max } = policyOf(agentId).restart;
    const recent = (restarts.get(agentId) ?? []).filter((at) => at > now() - window - 5 * second);
    if (recent.length < max) violated(`${agentId}: ${attempts} restarts are said to be used up, ${recent.length} were`);
  }

  function noteGivenUp(agentId: string): void {
    const { maxPerTask, maxPerHour } = policyOf(agentId).recovery;
    const all = recoveries.get(agentId) ?? [];
    const taskId = taskOf.get(agentId) ?? null;
    const ofTask = all.filter((one) => one.taskId === taskId).length;
    const ofHour = all.filter(({ at }) => at > now() - 60 * minute - 5 * second).length;
    if (ofTask < maxPerTask && ofHour < maxPerHour)
      violated(`${agentId}: recoveries are said to be used up, ${ofTask} of this task and ${ofHour} of this hour were`);
  }

  function noteDecision({
    agentId,
    escalation,
    decision,
  }: Extract<RouseEvent, { type: "ESCALATION_DECIDED" }>["payload"]): void {
    if (decided.has(escalation)) violated(`${escalation} was decided twice`);
    decided.add(escalation);
    const reason = reasons.get(escalation) ?? "";
    if (decision === "terminate_and_recover" && (reason.endsWith("-exhausted") || down.has(agentId)))
      pressed.add(agentId);
    // Whoever was given up is brought back with the others; that they are down together is the monitor's to know.
    if (decision === "terminate_and_recover" && reason === "mass-failure") for (const one of givenUp) pressed.add(one);
    // An hour at most, and after it somebody is asked anew.
    if (decision === "allow_more_time") grant(agentId, 60 * minute + policyOf(agentId).escalation.timeout);
  }

  function noteQuestion(payload: Extract<RouseEvent, { type: "ESCALATION_TRIGGERED" }>["payload"]): void {
    const { agentId, escalation, reason, answerWithinSeconds } = payload;
    counts.escalations += 1;
    once(escalation, "the question");
    // Several of the fleet may be open at once.
    const subject = agentId === fleetId ? payload.incident : agentId;
    // About many it is asked anew when more have joined them.
    if (agentId !== fleetId) mustHaveWaited(subject, `${escalation} was asked`);
    const incident = open.get(agentId);
    const nudged = nudgedAt.get(agentId);
    const wasNudged = nudged !== undefined && now() - nudged - excusedSince(nudged) < nudgesCountFor;
    if (reason === "nudges-unanswered" && incident?.asked === false && !wasNudged)
      violated(`${escalation} says that nudges were not answered, and none was sent`);
    if (incident !== undefined) incident.asked = true;
    questions.set(subject, { id: escalation, until: now() + answerWithinSeconds * second });
    reasons.set(escalation, reason);
    grant(agentId, answerWithinSeconds * second);
    intervene(agentId);
  }

  /** Many that die together are one alert. */
  function noteAlert(agentId: string | null, alert: string): void {
    const died = agentId === null ? undefined : diedWithMany.get(agentId);
    const isOfEnd = alert.includes("/process-exited/") || alert.endsWith("/ended");
    if (died !== undefined && isOfEnd && now() - died < minute && excusedSince(died) === 0)
      violated(`${alert}: ${agentId} died with many, and was told of alone`);
  }

  function forgetQuestion(escalation: string): void {
    for (const [subject, { id }] of questions) if (id === escalation) questions.delete(subject);
  }

  /** Nothing overrides an open question but the agent's return, its end, or somebody's word. */
  function mustHaveWaited(agentId: string, what: string): void {
    const open = questions.get(agentId);
    if (open !== undefined && now() < open.until - 5 * second)
      violated(`${what} ${((open.until - now()) / minute).toFixed(1)} min before the time to answer ${open.id} was up`);
  }

  return {
    /** These were killed at the same moment. */
    manyDied(agents: readonly string[]): void {
      for (const agentId of agents) diedWithMany.set(agentId, now());
    },
    taskIs: (agentId: string, taskId: string | null): void => void taskOf.set(agentId, taskId),
    note(event: RouseEvent): void {
      switch (event.type) {
        case "HEALTH_STATE_CHANGED":
          return noteState(event.payload.agentId, event.payload.to);
        case "INCIDENT_OPENED":
          return openIncident(event.payload.agentId, event.payload.incident);
        case "INCIDENT_CLOSED":
          return closeIncident(
            event.payload.agentId,
            event.payload.incident,
            event.payload.ending,
            event.payload.because,
          );
        case "ALERT_RAISED":
          return noteAlert(event.payload.agentId, event.payload.alert);
        case "NUDGE_QUEUED":
          return once(event.payload.nudge, "the nudge");
        case "NUDGE_SENT":
          counts.nudges += 1;
          nudgedAt.set(event.payload.agentId, now());
          return intervene(event.payload.agentId);
        case "ESCALATION_TRIGGERED":
          return noteQuestion(event.payload);
        case "PROCESS_EXITED":
          questions.delete(event.payload.agentId);
          return;
        case "FLEET_INCIDENT_CLOSED":
          questions.delete(event.payload.incident);
          return;
        case "ESCALATION_UNANSWERED":
          forgetQuestion(event.payload.escalation);
          return;
        case "ESCALATION_DECIDED":
          forgetQuestion(event.payload.escalation);
          return noteDecision(event.payload);
        case "TERMINATION_ORDERED":
          counts.terminations += 1;
          if (event.payload.because !== "ordered")
            mustHaveWaited(event.payload.agentId, `${event.payload.key} was ordered`);
          return intervene(event.payload.agentId);
        case "TERMINATION_REFUSED":
          return count(refusals, event.payload.because);
        case "RESTART_ORDERED":
          return noteRestart(event.payload);
        case "RESTART_FAILED":
        case "RESTART_PUT_OFF":
          starting.delete(`${event.payload.agentId}/${event.payload.incarnation}`);
          return;
        case "RESTARTS_EXHAUSTED":
          return noteExhausted(event.payload.agentId, event.payload.attempts);
        case "RECOVERY_FAILED":
          if (event.payload.reason === "recoveries-exhausted") noteGivenUp(event.payload.agentId);
          return;
      }
    },

    /** Every incident moves on by itself: the longest way up the ladder, with what was granted on it and what the monitor's own faults took. */
    lookForTheForgotten(): void {
      for (const [agentId, incident] of open) {
        const policy = policyOf(agentId);
        const { nudge, escalation, stopGrace, saving } = policy;
        // Nothing is done about one at its limit, also when somebody has made an incident of it.
        if (isAtLimit(agentId)) incident.granted = Math.max(incident.granted, now() - incident.openedAt);
        const ladder =
          (nudge.max + 1) * nudge.interval + escalation.timeout + 4 * (stopGrace + saving.within) + 20 * minute;
        const allowed = ladder + incident.granted + excusedSince(incident.openedAt);
        if (now() - incident.openedAt <= allowed || incident.overdueTold) continue;
        incident.overdueTold = true;
        violated(`${incident.id} has been open for ${((now() - incident.openedAt) / minute).toFixed(1)} min`);
      }
    },

    isOpen: (agentId: string): boolean => open.has(agentId),
    agentOf,
    findings: (): LadderFindings => ({
      ...counts,
      endings,
      refusals,
      intervention: { ...summarise(delays), mean: mean(delays) },
    }),
  };
}

export type LadderJudge = ReturnType<typeof judgeLadder>;
