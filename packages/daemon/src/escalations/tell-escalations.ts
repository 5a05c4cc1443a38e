import {
  type AnswerRefusal,
  type DecisionRequest,
  type EpochMs,
  type EscalationEnding,
  type EscalationNotice,
  type EscalationReport,
  type EventType,
  eventTypes,
  type MonoMs,
  type SavedEvent,
} from "@rouse/contract";
import type { Action, ActionOutcome } from "@rouse/core";
import { policySubject } from "../agents/policy-subject.ts";
import type { Checkpoints } from "../checkpoints/keep-checkpoints.ts";
import type { Config } from "../config/read-config.ts";
import type { Moment } from "../engine/steady-clock.ts";
import { writeFleetNotice } from "../fleet/fleet-matters.ts";
import { type Given, givenBy } from "../orders/note-orders.ts";
import type { Orchestrator } from "../ports/orchestrator.ts";
import type { Store } from "../ports/store.ts";
import { eventsInNotice, snapshotOf, writeNotice } from "./escalation-notice.ts";
import { recallEnding, type Words } from "./take-words.ts";

interface TellingParts {
  readonly words: Words;
  readonly store: Store;
  readonly checkpoints: Pick<Checkpoints, "list">;
  readonly config: () => Config;
  readonly readClock: () => Moment;
  readonly toWall: (at: MonoMs) => EpochMs;
}

/** How many of its last events may be its own answers. */
const answersInNotice = 2;
const allButAnswers = eventTypes.filter((type: EventType) => type !== "AGENT_ANSWERED");

const fleetEvents: readonly EventType[] = [
  "FLEET_INCIDENT_OPENED",
  "VERDICTS_HELD_BACK",
  "VERDICTS_RESUMED",
  "MONITOR_GAP",
];

/** Open questions with everything somebody who answers may want to know, and how those that are over ended. */
export function tellEscalations({ words, store, checkpoints, config, readClock, toWall }: TellingParts) {
  /** What the agent says of itself does not push out what happened to it. */
  async function readLastEvents(agentId: string): Promise<SavedEvent[]> {
    const newest = { agentId, newestFirst: true };
    const [answers, events] = await Promise.all([
      store.readEvents({ ...newest, types: ["AGENT_ANSWERED"], limit: answersInNotice }),
      store.readEvents({ ...newest, types: allButAnswers, limit: eventsInNotice }),
    ]);
    return [...answers, ...events];
  }

  /** Of many agents, what happened to the fleet. */
  async function tellOfFleet({ report, held }: { report: EscalationReport; held: number }): Promise<EscalationNotice> {
    const nobody = { agentId: "", agentType: null, taskId: null };
    const snapshot = snapshotOf(config().policyFor(nobody), config().settingsFor(nobody));
    const query = { types: fleetEvents, limit: eventsInNotice, newestFirst: true };
    return writeFleetNotice(
      report,
      held,
      snapshot,
      (await store.readEvents(query)).toSorted((a, b) => a.id - b.id),
    );
  }

  return {
    /** `null` when it does not wait for an answer (any more). */
    async notice(escalation: string): Promise<EscalationNotice | null> {
      const forFleet = words.findFleetQuestion(escalation);
      if (forFleet !== null) return tellOfFleet(forFleet);
      const found = words.findEscalation(escalation);
      if (found === null) return null;
      const { report, record } = found;
      const { agentId } = record;
      const { id: taskId } = record.task;
      const lastEvents = await readLastEvents(agentId);
      const chain = taskId === null ? null : await checkpoints.list(taskId, 1);
      return writeNotice({
        report,
        record,
        policy: config().policyFor(policySubject(record)),
        settings: config().settingsFor(policySubject(record)),
        lastEvents,
        checkpoint: chain?.checkpoints[0] ?? null,
        now: readClock().now,
        toWall,
      });
    },
    howItEnded: (escalation: string): Promise<EscalationEnding | null> => recallEnding(store.readEvents, escalation),
  };
}

export type EscalationTeller = ReturnType<typeof tellEscalations>;

type Of<K extends Action["kind"]> = Extract<Action, { kind: K }>;

export interface AskingParts {
  readonly orchestrator: Orchestrator;
  /** The question with its context, as it is now; `null` when it is not open any more. */
  notice(escalation: string): Promise<EscalationNotice | null>;
  decide(escalation: string, request: Given<DecisionRequest>): Promise<unknown>;
  noteRefusedAnswer(agentId: string, escalation: string, because: AnswerRefusal): void;
  toWall(at: MonoMs): EpochMs;
}

/** The hands' way to whoever decides. An answer that comes at once is taken in like any other, before the question counts as delivered. */
export function askOrchestrator({ orchestrator, notice, decide, noteRefusedAnswer, toWall }: AskingParts) {
  return {
    async ask({ escalation, until }: Of<"escalate">): Promise<ActionOutcome> {
      const asked = await notice(escalation);
      // Over already, as after a crash between the answer and the end of the asking.
      if (asked === null) return "delivered";
      const answer = await orchestrator.ask(asked, toWall(until));
      if (answer === "delivered") return "delivered";
      // Whoever listens there is not whom we wanted to ask: the question stays open, and a person is told that nobody has it.
      if ("refused" in answer) noteRefusedAnswer(asked.agentId, escalation, answer.refused);
      if ("problem" in answer) return { kind: "undelivered", problem: answer.problem };
      await decide(escalation, givenBy("orchestrator:webhook", answer.decided));
      return "delivered";
    },
    withdraw: ({ escalation, agentId, because }: Of<"withdraw-escalation">): Promise<void> =>
      orchestrator.withdraw(escalation, agentId, because),
  };
}
