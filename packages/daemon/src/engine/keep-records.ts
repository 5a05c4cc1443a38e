import type { DurationMs, MonoMs } from "@rouse/contract";
import type { Watched } from "../agents/roster.ts";
import type { GroupCommit } from "./group-commit.ts";

/**
 * A record whose beats only moved clocks is written after this long, or after this many further signals of all agents.
 */
const savedWithin: DurationMs = 60_000;
const signalsWithin = 50_000;
/** A call writes at most this many records, or a twentieth of those that wait: nobody is to wait for a long row. */
const leastPerCall = 200;

/**
 * Brings records to the store. A turn with consequences saves its record at once, with them. The record of a turn that
 * only moved clocks can wait, because its signal is saved and the record is learnt again from it. How long a record
 * waits bounds how much there is to learn again after a crash.
 */
export function keepRecords(commits: GroupCommit) {
  /** Agents whose record waits, longest first. */
  const unsaved = new Set<Watched>();

  function saveNow(watched: Watched): void {
    unsaved.delete(watched);
    watched.unsaved = null;
    commits.draft().records.set(watched.no, () => watched.toSave());
  }

  return {
    saveNow,
    /** Call it only for an agent whose record does not wait already. */
    saveLater(watched: Watched, now: MonoMs): void {
      // A record that is part of the next commit already is written as it is then.
      if (commits.draft().records.has(watched.no)) return;
      watched.unsaved = { since: now, through: watched.through };
      unsaved.add(watched);
    },
    /** Hands the records that have waited long enough to the next commit. */
    saveDue(now: MonoMs, lastSignalId: number): void {
      let left = Math.max(leastPerCall, Math.ceil(unsaved.size / 20));
      for (const watched of unsaved) {
        const waits = watched.unsaved;
        if (left-- === 0 || waits === null) break;
        if (now - waits.since < savedWithin && lastSignalId - waits.through < signalsWithin) break;
        saveNow(watched);
      }
    },
    /** Removes an agent: nothing of it is written any more, not even what waits for the next commit. */
    remove(watched: Watched): void {
      unsaved.delete(watched);
      watched.unsaved = null;
      const draft = commits.draft();
      draft.records.delete(watched.no);
      draft.signals = draft.signals.filter(({ agentNo }) => agentNo !== watched.no);
      draft.removed.push(watched.no);
    },
    saveAll(): void {
      for (const watched of unsaved) saveNow(watched);
    },
  };
}

export type RecordKeeper = ReturnType<typeof keepRecords>;
