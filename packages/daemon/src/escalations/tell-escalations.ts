import {
  type EpochMs,
  type EscalationEnding,
  type EscalationNotice,
  type EscalationReport,
  type EventType,
  eventTypes,
  type MonoMs,
  type SavedEvent,
} from "@rouse/contract";
import type { Checkpoints } from "../checkpoints/keep-checkpoints.ts";
import { policySubject } from "../config/choose-policy.ts";
import type { Config } from "../config/read-config.ts";
import type { Moment } from "../engine/steady-clock.ts";
import { writeFleetNotice } from "../fleet/fleet-matters.ts";
import type { Store } from "../ports/store.ts";
import { eventsInNotice, snapshotOf, writeNotice } from "./escalation-notice.ts";
import { recallEnding } from "./recall-ending.ts";
import type { Words } from "./take-words.ts";

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
