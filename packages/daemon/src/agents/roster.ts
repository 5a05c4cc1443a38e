import { Fault, type MonoMs, printable } from "@rouse/contract";
import { type AgentRecord, interventionsOf, noCounts, readRecord } from "@rouse/core";
import { nearestName } from "../config/nearest-name.ts";
import type { Kept } from "../engine/engine.ts";
import type { SavedRecord } from "../ports/store.ts";

/** One agent in memory: its record, which signal it is current with, and where it lies in the wheel. */
export class Watched implements Kept<AgentRecord> {
  readonly machine = "agent";
  readonly id: string;
  readonly no: number;
  record: AgentRecord;
  /** Id of the last signal that is part of the record. */
  through: number;
  /** Since when, and since which signal, the record has changed without being handed to the store. */
  unsaved: { readonly since: MonoMs; readonly through: number } | null = null;
  slot: number | null = null;

  constructor(no: number, record: AgentRecord, through: number) {
    this.no = no;
    this.id = record.agentId;
    this.record = record;
    this.through = through;
  }

  wakeAt(): MonoMs | null {
    return this.record.wakeAt;
  }

  toSave(): SavedRecord {
    return {
      agentNo: this.no,
      agentId: this.record.agentId,
      through: this.through,
      record: JSON.stringify(this.record),
    };
  }
}

/**
 * Numbers that removed agents have used. Keys of incidents, nudges, stops and alerts are made from an agent's name and
 * these numbers. A key is never used twice, not even by a new agent of the same name: whoever was told of the first
 * under that key would take the second for the same.
 */
interface UsedNumbers {
  readonly nextNo: number;
  readonly counts: Omit<AgentRecord["ladder"]["counts"], "ofOthers">;
  readonly alertsRaised: number;
}

/** The mark that used numbers are kept under. */
const usedNumbersMark = "used-numbers";
/** Before the name of a removed agent: the number of its last life. */
const lastLifeMark = "last-life/";

const noneUsed: UsedNumbers = { nextNo: 1, counts: noCounts, alertsRaised: 0 };

function usedAlso(
  used: UsedNumbers,
  { ladder: { counts }, health: { alertsRaised } }: AgentRecord,
  nextNo: number,
): UsedNumbers {
  const larger = (name: keyof UsedNumbers["counts"]): number => Math.max(used.counts[name], counts[name]);
  return {
    nextNo,
    counts: {
      incidents: larger("incidents"),
      nudges: larger("nudges"),
      escalations: larger("escalations"),
      stops: larger("stops"),
      starts: larger("starts"),
    },
    alertsRaised: Math.max(used.alertsRaised, alertsRaised),
  };
}

/** With more names than this no similar name is looked for: it would take longer than the answer is worth. */
const mostNames = 20_000;

/** Everyone the monitor knows. */
export function createRoster() {
  const byId = new Map<string, Watched>();
  const lastLives = new Map<string, number>();
  let nextNo = 1;
  let used: UsedNumbers = noneUsed;

  return {
    find: (agentId: string): Watched | undefined => byId.get(agentId),
    /** Finds an agent that somebody outside names. `life` is the incarnation that speaks, where that is known. */
    mustFind(agentId: string, life: number | null = null): Watched {
      const watched = byId.get(agentId);
      if (watched === undefined) throw this.unknown(agentId);
      this.refuseFormerLife(agentId, life);
      const { incarnation } = watched.record.life;
      if (life !== null && life > incarnation)
        throw new Fault(
          "forbidden",
          `incarnation ${life} of ${agentId} is not known; the current one is ${incarnation}`,
        );
      return watched;
    },
    /** Refuses a life that is over, once a later one is known, or once its agent was removed. */
    refuseFormerLife(agentId: string, life: number | null): void {
      const present = byId.get(agentId)?.record.life.incarnation;
      if (life === null || life >= (present ?? this.firstLife(agentId))) return;
      const now = present === undefined ? "the agent was removed" : `the current one is ${present}`;
      throw new Fault("forbidden", `incarnation ${life} of ${agentId} is over; ${now}`);
    },
    /** The fault for an unknown name, with the name that was probably meant. */
    unknown(agentId: string): Fault {
      const nearest = byId.size > mostNames ? undefined : nearestName(agentId, [...byId.keys()]);
      const meant = nearest === undefined ? "" : `; did you mean ${nearest}?`;
      return new Fault(
        "agent-unknown",
        `no agent ${printable(agentId, 128)} is known${meant || "; `rouse ps --all` lists all"}`,
      );
    },
    add(record: AgentRecord): Watched {
      const { counts, alertsRaised } = used;
      const ofOthers = interventionsOf(counts);
      const numbered = ofOthers === 0 ? counts : { ...counts, ofOthers };
      const watched = new Watched(
        nextNo++,
        { ...record, ladder: { ...record.ladder, counts: numbered }, health: { ...record.health, alertsRaised } },
        0,
      );
      byId.set(record.agentId, watched);
      return watched;
    },
    /** Removes an agent. Returns the marks that keep the used numbers for later runs. */
    remove(watched: Watched): Record<string, string> {
      const { record } = watched;
      byId.delete(record.agentId);
      // The wheel, and perhaps a caller, still has this agent: from now on nothing is due for it.
      watched.record = { ...record, wakeAt: null };
      used = usedAlso(used, record, nextNo);
      const { agentId, life } = record;
      lastLives.set(agentId, life.incarnation);
      return { [usedNumbersMark]: JSON.stringify(used), [lastLifeMark + agentId]: String(life.incarnation) };
    },
    /** The number of the first life of an agent: tokens of earlier ones, of a removed agent of its name, do not count. */
    firstLife: (agentId: string): number => (lastLives.get(agentId) ?? 0) + 1,
    /** Goes on with the numbers after those that removed agents have used. */
    goOnAfter(marks: Readonly<Record<string, string>>): void {
      for (const [name, value] of Object.entries(marks))
        if (name.startsWith(lastLifeMark)) lastLives.set(name.slice(lastLifeMark.length), Number(value));
      const mark = marks[usedNumbersMark];
      if (mark === undefined) return;
      used = JSON.parse(mark) as UsedNumbers;
      nextNo = Math.max(nextNo, used.nextNo);
    },
    restore(saved: SavedRecord): Watched {
      const watched = new Watched(saved.agentNo, readRecord(saved.record), saved.through);
      byId.set(saved.agentId, watched);
      nextNo = Math.max(nextNo, saved.agentNo + 1);
      return watched;
    },
    all: (): IterableIterator<Watched> => byId.values(),
    names: (): IterableIterator<string> => byId.keys(),
    size: (): number => byId.size,
  };
}

export type Roster = ReturnType<typeof createRoster>;
