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
  type MonoMs,
  minutes,
  type NudgeResult,
  printable,
  type SavedEvent,
  toIso,
} from "@rouse/contract";
import { type AgentRecord, type FleetDoings, type FleetIncident, openEscalation, type Signal } from "@rouse/core";
import type { Watched } from "../agents/roster.ts";
import { policySubject } from "../config/choose-policy.ts";
import type { Keep } from "../engine/answer-once.ts";
import { describeFleetQuestion } from "../fleet/fleet-matters.ts";
import { type Given, type GivenOrder, orderLine, refusalLine } from "../orders/note-orders.ts";
import type { Store } from "../ports/store.ts";
import type { SharedServices } from "../shared-services.ts";
import { describeEscalation } from "./describe-incident.ts";

type OrderParts = Omit<SharedServices, "doubt" | "clock">;

/** The outcome of a decision or an acknowledgement: taken, too late, or for a question that was never asked. */
export type Answered =
  | { readonly outcome: "taken" }
  | { readonly outcome: "over"; readonly ended: EscalationEnding }
  | { readonly outcome: "unknown" };

/**
 * Takes decisions, acknowledgements, ordered nudges and escalations of people and the orchestrator, and the answers and
 * check-ins of agents. Saves each and answers with its outcome.
 */
export function takeOrders({ roster, incidents, engine, agents, commits, store, ...parts }: OrderParts) {
  const { readClock, toWall, config } = parts;

  function mustFind(agentId: string, life: number | null = null): Watched {
    commits.refuseWhileDown();
    return roster.mustFind(agentId, life);
  }

  async function tell(watched: Watched, signal: Signal): Promise<void> {
    agents.take(watched, signal, readClock());
    await commits.saved();
  }

  const report = (record: AgentRecord): EscalationReport | null =>
    describeEscalation(record, config().policyFor(policySubject(record)), toWall);

  const reportFleet = (incident: FleetIncident): EscalationReport | null =>
    describeFleetQuestion(incident, readClock().now, toWall);

  const findWatched = (escalation: string): Watched | undefined => roster.find(agentOfEscalation(escalation) ?? "");

  /** For a question that is not open: whether it ever was, and how it ended. */
  async function lookBack(escalation: string, given: Omit<GivenOrder, "subject">): Promise<Answered> {
    // The answer that came first may not be on the disk yet.
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

  /** `doings`: what the answer does where the question is about many agents; `null` when no such question is open. */
  async function takeAnswer(
    escalation: string,
    order: Omit<GivenOrder, "subject">,
    doings: (now: MonoMs) => FleetDoings | null,
    signal: Signal,
  ): Promise<Answered> {
    commits.refuseWhileDown();
    const moment = readClock();
    const forFleet = doings(moment.now);
    const watched = findWatched(escalation);
    if (forFleet !== null) {
      note({ ...order, subject: fleetId });
      agents.takeFleet(forFleet, moment);
    } else if (isOpen(watched, escalation)) {
      note({ ...order, subject: watched.record.agentId });
      agents.take(watched, signal, moment);
    } else return lookBack(escalation, order);
    await commits.saved();
    return { outcome: "taken" };
  }

  const isOpen = (watched: Watched | undefined, escalation: string): watched is Watched =>
    watched !== undefined && openEscalation(watched.record)?.id === escalation;

  return {
    /** The one that waits longest comes first. */
    escalations: (): EscalationReport[] =>
      [
        ...incidents.open().flatMap((incident) => reportFleet(incident) ?? []),
        ...[...roster.all()].flatMap(({ record }) => report(record) ?? []),
      ].sort((a, b) => (a.openedAt < b.openedAt ? -1 : a.openedAt > b.openedAt ? 1 : 0)),
    /** An open question about many agents, with how many of them Rouse holds. */
    findFleetQuestion(escalation: string): { report: EscalationReport; held: number } | null {
      const incident = incidents.open().find(({ stage }) => stage.kind === "asked" && stage.question.id === escalation);
      const found = incident === undefined ? null : reportFleet(incident);
      if (incident === undefined || found === null) return null;
      const isHeld = (agentId: string): boolean => roster.find(agentId)?.record.seen.terminal != null;
      return { report: found, held: incident.members.filter(isHeld).length };
    },
    /** An open question about one agent, with its record. */
    findEscalation(escalation: string): { report: EscalationReport; record: AgentRecord } | null {
      const watched = findWatched(escalation);
      if (!isOpen(watched, escalation)) return null;
      const found = report(watched.record);
      return found === null ? null : { report: found, record: watched.record };
    },
    async decide(escalation: string, request: Given<DecisionRequest>): Promise<Answered> {
      const { decision, actor, as, reason } = request;
      const order = { order: "decision", actor, as, reason, evidence: { escalation, decision } };
      const decided = {
        decision,
        actor,
        reason,
        more: request.minutes === undefined ? null : minutes(request.minutes),
      };
      const doings = (now: MonoMs) => incidents.decide(escalation, decided, now);
      return takeAnswer(escalation, order, doings, { kind: "decided", escalation, ...decided });
    },
    async acknowledge(escalation: string, actor: string, as?: string): Promise<Answered> {
      const order = { order: "acknowledgement", actor, as, reason: "acknowledged", evidence: { escalation } };
      const doings = (now: MonoMs) => incidents.acknowledge(escalation, actor, now);
      return takeAnswer(escalation, order, doings, { kind: "acknowledged", escalation, actor });
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
      const answerBy = toIso(toWall(escalation.until));
      return { agentId, escalation: escalation.id, severity: escalation.severity, answerBy };
    },
  };
}

/** Why no nudge was sent: a person can do something about most of the reasons. */
function whyNot({ agentId, beats, seen: { terminal } }: AgentRecord): string {
  if (terminal !== null && terminal.exit !== null) return "it has ended";
  const takesInput = terminal?.holder === "here" && terminal.input !== "none";
  if (beats.accepted > 0 || takesInput) return "all interventions are frozen; `rouse thaw` allows them again";
  if (terminal?.holder === "here" && terminal.family === "generic")
    return `it sends no heartbeats, and Rouse types into no program that it does not know; \`rouse attach ${agentId}\` lets you`;
  return "it sends no heartbeats and takes no input while it works";
}

export type Orders = ReturnType<typeof takeOrders>;

const toldBy = ["ESCALATION_TRIGGERED", "ESCALATION_DECIDED", "ESCALATION_UNANSWERED", "INCIDENT_CLOSED"] as const;
const atOnce = 1000;

/** How a question that is not open ended, by its events; `null` when it was never asked, or its events are gone. */
export async function recallEnding(
  readEvents: Store["readEvents"],
  escalation: string,
): Promise<EscalationEnding | null> {
  const agentId = agentOfEscalation(escalation);
  if (agentId === null) return null;
  let incident: string | null = null;
  for (let after = 0; ; ) {
    const page: SavedEvent[] = await readEvents({ agentId, types: toldBy, after, limit: atOnce });
    for (const event of page) {
      if (event.type === "ESCALATION_TRIGGERED" && event.payload.escalation === escalation)
        incident = event.payload.incident;
      const ending: EscalationEnding | null = endingIn(event, escalation, incident);
      if (ending !== null) return ending;
    }
    const last = page[page.length - 1];
    if (last === undefined || page.length < atOnce) return incident === null ? null : { how: "overtaken" };
    after = last.id;
  }
}

function endingIn(event: SavedEvent, escalation: string, incident: string | null): EscalationEnding | null {
  const at = event.time;
  if (event.type === "ESCALATION_DECIDED" && event.payload.escalation === escalation) {
    const { decision, actor, reason } = event.payload;
    return { how: "decided", at, decision, actor, reason };
  }
  if (event.type === "ESCALATION_UNANSWERED" && event.payload.escalation === escalation)
    return { how: "unanswered", at, waitedSeconds: event.payload.waitedSeconds };
  if (event.type === "INCIDENT_CLOSED" && event.payload.incident === incident) {
    const { ending, because } = event.payload;
    return { how: "incident-closed", at, ending, because };
  }
  return null;
}
