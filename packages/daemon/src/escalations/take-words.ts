import {
  type AgentAnswer,
  agentOfEscalation,
  type CheckInAnswer,
  type DecisionRequest,
  type EscalationEnding,
  type EscalationReport,
  type EscalationResult,
  Fault,
  fleetId,
  minutes,
  type NudgeResult,
  printable,
  toIso,
} from "@rouse/contract";
import {
  type AgentRecord,
  type FleetDoings,
  type FleetIncident,
  type FleetIncidents,
  openEscalation,
  type Signal,
} from "@rouse/core";
import type { Agents } from "../agents/host-agents.ts";
import type { Roster, Watched } from "../agents/roster.ts";
import { policySubject } from "../config/choose-policy.ts";
import type { Config } from "../config/read-config.ts";
import type { Keep } from "../engine/answer-once.ts";
import type { Engine } from "../engine/engine.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { Moment, SteadyClock } from "../engine/steady-clock.ts";
import { describeFleetQuestion } from "../fleet/fleet-matters.ts";
import { type Given, type GivenOrder, orderLine, refusalLine } from "../orders/note-orders.ts";
import type { Store } from "../ports/store.ts";
import { describeEscalation } from "./describe-incident.ts";
import { recallEnding } from "./recall-ending.ts";

interface WordParts {
  readonly roster: Roster;
  readonly incidents: FleetIncidents;
  readonly engine: Engine;
  readonly agents: Agents;
  readonly commits: GroupCommit;
  readonly store: Store;
  readonly clock: Pick<SteadyClock, "toWall">;
  readonly readClock: () => Moment;
  readonly config: () => Config;
}

/** What became of a decision or an acknowledgement: taken in, too late, or for what was never asked. */
export type Answered =
  | { readonly outcome: "taken" }
  | { readonly outcome: "over"; readonly ended: EscalationEnding }
  | { readonly outcome: "unknown" };

/** Words of people, of the orchestrator and of agents about agents: taken in, saved, and answered with what came of them. */
export function takeWords({ roster, incidents, engine, agents, commits, store, clock, readClock, config }: WordParts) {
  function mustFind(agentId: string, life: number | null = null): Watched {
    commits.refuseWhileDown();
    return roster.mustFind(agentId, life);
  }

  async function tell(watched: Watched, signal: Signal): Promise<void> {
    agents.take(watched, signal, readClock());
    await commits.saved();
  }

  const report = (record: AgentRecord): EscalationReport | null =>
    describeEscalation(record, config().policyFor(policySubject(record)), clock.toWall);

  const reportFleet = (incident: FleetIncident): EscalationReport | null =>
    describeFleetQuestion(incident, readClock().now, clock.toWall);

  const findWatched = (escalation: string): Watched | undefined => roster.find(agentOfEscalation(escalation) ?? "");

  /** The question is not open: was it ever, and how did it end? */
  async function lookBack(escalation: string, given: Omit<GivenOrder, "subject">): Promise<Answered> {
    // Whoever was first may be on the way to the disk.
    await commits.saved();
    const ended = await recallEnding(store.readEvents, escalation);
    if (ended === null) return { outcome: "unknown" };
    const order = { ...given, subject: agentOfEscalation(escalation) ?? escalation };
    note(order);
    await refuse(order, ended.how);
    return { outcome: "over", ended };
  }

  const note = (order: GivenOrder): void => engine.addToTrail(orderLine(order, readClock().time));

  async function refuse(order: GivenOrder, because: string): Promise<void> {
    engine.addToTrail(refusalLine(order, because, readClock().time));
    await commits.saved();
  }

  /** About many at once: `null` when no such question is open. */
  async function answerForFleet(
    order: GivenOrder,
    answer: (moment: Moment) => FleetDoings | null,
  ): Promise<Answered | null> {
    commits.refuseWhileDown();
    const moment = readClock();
    const doings = answer(moment);
    if (doings === null) return null;
    note(order);
    agents.takeFleet(doings, moment);
    await commits.saved();
    return { outcome: "taken" };
  }

  const isOpen = (watched: Watched | undefined, escalation: string): watched is Watched =>
    watched !== undefined && openEscalation(watched.record)?.id === escalation;

  return {
    /** What waits longest first. */
    escalations: (): EscalationReport[] =>
      [
        ...incidents.open().flatMap((incident) => reportFleet(incident) ?? []),
        ...[...roster.all()].flatMap(({ record }) => report(record) ?? []),
      ].sort((a, b) => (a.openedAt < b.openedAt ? -1 : a.openedAt > b.openedAt ? 1 : 0)),
    /** The open question about many, with how many of them Rouse holds. */
    findFleetQuestion(escalation: string): { report: EscalationReport; held: number } | null {
      const incident = incidents.open().find(({ stage }) => stage.kind === "asked" && stage.question.id === escalation);
      const found = incident === undefined ? null : reportFleet(incident);
      if (incident === undefined || found === null) return null;
      const isHeld = (agentId: string): boolean => roster.find(agentId)?.record.seen.terminal != null;
      return { report: found, held: incident.members.filter(isHeld).length };
    },
    /** The open question with its record, for whoever tells more about it. */
    findEscalation(escalation: string): { report: EscalationReport; record: AgentRecord } | null {
      const watched = findWatched(escalation);
      if (!isOpen(watched, escalation)) return null;
      const found = report(watched.record);
      return found === null ? null : { report: found, record: watched.record };
    },
    async decide(escalation: string, request: Given<DecisionRequest>): Promise<Answered> {
      const { decision, actor, as, reason } = request;
      const watched = findWatched(escalation);
      const order = { order: "decision", actor, as, reason, evidence: { escalation, decision } };
      const more = request.minutes === undefined ? null : minutes(request.minutes);
      const forAll = await answerForFleet({ ...order, subject: fleetId }, ({ now }) =>
        incidents.decide(escalation, { decision, actor, reason, more }, now),
      );
      if (forAll !== null) return forAll;
      if (!isOpen(watched, escalation)) return lookBack(escalation, order);
      const { agentId } = mustFind(watched.record.agentId).record;
      note({ ...order, subject: agentId });
      await tell(watched, { kind: "decided", escalation, decision, actor, reason, more });
      return { outcome: "taken" };
    },
    async acknowledge(escalation: string, actor: string, as?: string): Promise<Answered> {
      const watched = findWatched(escalation);
      const order = { order: "acknowledgement", actor, as, reason: "acknowledged", evidence: { escalation } };
      const forAll = await answerForFleet({ ...order, subject: fleetId }, ({ now }) =>
        incidents.acknowledge(escalation, actor, now),
      );
      if (forAll !== null) return forAll;
      if (!isOpen(watched, escalation)) return lookBack(escalation, order);
      const { agentId } = mustFind(watched.record.agentId).record;
      note({ ...order, subject: agentId });
      await tell(watched, { kind: "acknowledged", escalation, actor });
      return { outcome: "taken" };
    },
    async answer(agentId: string, answer: AgentAnswer, life: number | null): Promise<void> {
      const watched = mustFind(agentId, life);
      await tell(watched, { kind: "answered", answer });
    },
    async checkIn(agentId: string, life: number | null): Promise<CheckInAnswer> {
      const watched = mustFind(agentId, life);
      const reply = agents.take(watched, { kind: "checked-in" }, readClock());
      await commits.saved();
      return { agentId, commands: [...(reply?.commands ?? [])] };
    },
    async nudge(
      agentId: string,
      actor: string,
      message: string | null,
      as?: string,
      keep?: Pick<Keep, "answer">,
    ): Promise<NudgeResult> {
      const watched = mustFind(agentId);
      const before = watched.record.ladder.nudge;
      const text = message === null ? null : printable(message, 2000);
      const order = { order: "nudge", subject: agentId, actor, as, reason: text === null ? "reminder" : "operator" };
      note(order);
      agents.take(watched, { kind: "nudge-ordered", actor, text }, readClock());
      const { nudge } = watched.record.ladder;
      const isNew = nudge !== null && nudge.id !== before?.id;
      const because = whyNot(watched.record);
      if (!isNew) engine.addToTrail(refusalLine(order, because, readClock().time));
      const result: NudgeResult = isNew
        ? { agentId, nudge: nudge.id, state: nudge.state, channel: nudge.channel, message: nudge.text }
        : { agentId, nudge: null, state: "not-sent", channel: null, message: text ?? "", because };
      keep?.answer(result);
      await commits.saved();
      return result;
    },
    async escalate(agentId: string, actor: string, reason: string, as?: string): Promise<EscalationResult> {
      const watched = mustFind(agentId);
      const order = { order: "escalation", subject: agentId, actor, as, reason };
      note(order);
      await tell(watched, { kind: "escalation-ordered", actor });
      const escalation = openEscalation(watched.record);
      if (escalation === null) {
        await refuse(order, "nothing-to-ask");
        throw new Fault(
          "order-refused",
          `${agentId} has finished, or is being stopped or brought back: there is nothing to ask about`,
        );
      }
      const answerBy = toIso(clock.toWall(escalation.until));
      return { agentId, escalation: escalation.id, severity: escalation.severity, answerBy };
    },
  };
}

/** A person can do something about most of the reasons, so they are told apart. */
function whyNot({ agentId, beats, seen: { terminal } }: AgentRecord): string {
  if (terminal !== null && terminal.exit !== null) return "it has ended";
  const takesInput = terminal?.holder === "here" && terminal.input !== "none";
  if (beats.accepted > 0 || takesInput) return "all interventions are frozen; `rouse thaw` allows them again";
  if (terminal?.holder === "here" && terminal.family === "generic")
    return `it sends no heartbeats, and Rouse types into no program that it does not know; \`rouse attach ${agentId}\` lets you`;
  return "it sends no heartbeats and takes no input while it works";
}

export type Words = ReturnType<typeof takeWords>;
