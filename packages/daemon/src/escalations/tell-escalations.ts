import {
  type AnswerRefusal,
  type DecisionRequest,
  type EscalationEnding,
  type EscalationNotice,
  type EscalationReport,
  type EventType,
  eventTypes,
  type SavedEvent,
} from "@rouse/contract";
import type { Action, ActionOutcome } from "@rouse/core";
import type { Checkpoints } from "../checkpoints/keep-checkpoints.ts";
import { policySubject } from "../config/choose-policy.ts";
import { writeFleetNotice } from "../fleet/fleet-matters.ts";
import { type Given, givenBy } from "../orders/note-orders.ts";
import type { Orchestrator } from "../ports/orchestrator.ts";
import type { SharedServices } from "../shared-services.ts";
import { eventsInNotice, snapshotOf, writeNotice } from "./escalation-notice.ts";
import { type Orders, recallEnding } from "./take-orders.ts";

interface TellingParts extends Pick<SharedServices, "store" | "config" | "readClock" | "toWall"> {
  readonly orders: Orders;
  readonly checkpoints: Pick<Checkpoints, "list">;
}

/** How many of the agent's last events may be its own answers, so that these do not push out what happened to it. */
const answersInNotice = 2;
const allButAnswers = eventTypes.filter((type: EventType) => type !== "AGENT_ANSWERED");

const fleetEvents: readonly EventType[] = [
  "FLEET_INCIDENT_OPENED",
  "VERDICTS_HELD_BACK",
  "VERDICTS_RESUMED",
  "MONITOR_GAP",
];

/** Open questions with everything that helps to answer them, and how those that are over ended. */
export function tellEscalations({ orders, store, checkpoints, config, readClock, toWall }: TellingParts) {
  async function readLastEvents(agentId: string): Promise<SavedEvent[]> {
    const newest = { agentId, newestFirst: true };
    const [answers, events] = await Promise.all([
      store.readEvents({ ...newest, types: ["AGENT_ANSWERED"], limit: answersInNotice }),
      store.readEvents({ ...newest, types: allButAnswers, limit: eventsInNotice }),
    ]);
    return [...answers, ...events];
  }

  /** A question about many agents, with what happened to the fleet. */
  async function tellOfFleet({ report, held }: { report: EscalationReport; held: number }): Promise<EscalationNotice> {
    const nobody = { agentId: "", agentType: null, taskId: null };
    const snapshot = snapshotOf(config().policyFor(nobody), config().settingsFor(nobody));
    const events = await store.readEvents({ types: fleetEvents, limit: eventsInNotice, newestFirst: true });
    return writeFleetNotice(report, held, snapshot, events.toReversed());
  }

  return {
    /** `null` when it does not wait for an answer (any more). */
    async notice(escalation: string): Promise<EscalationNotice | null> {
      const forFleet = orders.findFleetQuestion(escalation);
      if (forFleet !== null) return tellOfFleet(forFleet);
      const found = orders.findEscalation(escalation);
      if (found === null) return null;
      const { agentId, task } = found.record;
      const lastEvents = await readLastEvents(agentId);
      const chain = task.id === null ? null : await checkpoints.list(task.id, 1);
      const subject = policySubject(found.record);
      return writeNotice({
        ...found,
        policy: config().policyFor(subject),
        settings: config().settingsFor(subject),
        lastEvents,
        checkpoint: chain?.checkpoints[0] ?? null,
        now: readClock().now,
        toWall,
      });
    },
    howItEnded: (escalation: string): Promise<EscalationEnding | null> => recallEnding(store.readEvents, escalation),
  };
}

type Of<K extends Action["kind"]> = Extract<Action, { kind: K }>;

interface AskingParts extends Pick<SharedServices, "toWall"> {
  readonly orchestrator: Orchestrator;
  /** The question with its context, as it is now; `null` when it is not open any more. */
  notice(escalation: string): Promise<EscalationNotice | null>;
  decide(escalation: string, request: Given<DecisionRequest>): Promise<unknown>;
  noteRefusedAnswer(agentId: string, escalation: string, because: AnswerRefusal): void;
}

/** Sends questions to the orchestrator. An immediate answer is taken before the question counts as delivered. */
export function askOrchestrator({ orchestrator, notice, decide, noteRefusedAnswer, toWall }: AskingParts) {
  return {
    async ask({ escalation, until }: Of<"escalate">): Promise<ActionOutcome> {
      const asked = await notice(escalation);
      // It is over already, as after a crash between the answer and the end of the asking.
      if (asked === null) return "delivered";
      const answer = await orchestrator.ask(asked, toWall(until));
      if (answer === "delivered") return "delivered";
      // Another program answered at that address: the question stays open, and a person is told that nobody has it.
      if ("refused" in answer) noteRefusedAnswer(asked.agentId, escalation, answer.refused);
      if ("problem" in answer) return { kind: "undelivered", problem: answer.problem };
      await decide(escalation, givenBy("orchestrator:webhook", answer.decided));
      return "delivered";
    },
    withdraw: ({ escalation, agentId, because }: Of<"withdraw-escalation">): Promise<void> =>
      orchestrator.withdraw(escalation, agentId, because),
  };
}
