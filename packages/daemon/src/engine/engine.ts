import type { AuditRecord, EpochMs, RouseEvent } from "@rouse/contract";
import type { Action, Letter, Machine, Stepped } from "@rouse/core";
import { type AuditTrail, auditHead, type NewAuditLine } from "../audit/audit-trail.ts";
import { auditLineOf } from "../audit/audited-events.ts";
import { auditHeadMark } from "../ports/store.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { Moment } from "./steady-clock.ts";
import { createWakeWheel, type Sleeper } from "./wake-wheel.ts";

/** One thing of a machine in memory. */
export interface Kept<R> extends Sleeper {
  readonly machine: string;
  readonly id: string;
  record: R;
}

/**
 * What the engine has to know to host a machine: where its things are, what they are judged by, what of a step is
 * saved, and what a step means for others.
 */
export interface Room<K extends Kept<R>, R, S, C, A> {
  readonly machine: Machine<R, S, C, A>;
  find(id: string, moment: Moment): K | undefined;
  contextOf(kept: K, signal: S, moment: Moment): C;
  /** Puts into the next commit what came of a step, besides its actions. */
  keep(turn: KeptTurn<K, R, S, C, A>): void;
  /** Tells others of a step: letters to other machines, and whoever only watches. */
  after?(turn: KeptTurn<K, R, S, C, A>): void;
  /** Takes a letter to the whole room. */
  hear?(signal: unknown, moment: Moment): void;
  /** Steps a thing whose deadline has come. */
  wake(kept: K, moment: Moment): void;
}

/** A step that was taken. `kept` has the record that came of it; `raw` is the signal as it was sent, where known. */
export interface KeptTurn<K, R, S, C, A> {
  readonly kept: K;
  readonly before: R;
  readonly signal: S;
  readonly context: C;
  readonly stepped: Stepped<R, A>;
  readonly moment: Moment;
  readonly raw: string | undefined;
}

/** What a room has its own things stepped with. */
export interface Host<K, S, A> {
  /** Takes one step. Its letters wait in the mailbox. */
  run(kept: K, signal: S, moment: Moment, raw?: string): A;
  /** Takes one step, delivers its letters and schedules the commit. */
  submit(kept: K, signal: S, moment: Moment, raw?: string): A;
}

interface Hosted {
  deliver(id: string | null, signal: unknown, moment: Moment): void;
  wake(kept: Kept<unknown>, moment: Moment): void;
}

interface EngineParts {
  readonly commits: GroupCommit;
  readonly audit: AuditTrail;
  readonly lastEventId: number;
  readonly readClock: () => Moment;
}

/**
 * Hosts machines and knows none by name. One step at a time: core judges, what comes out goes into the next commit, and
 * letters to others wait in the mailbox until the step is done. Everything is synchronous and saved in one commit;
 * whoever answers somebody outside waits for that commit.
 */
export function createEngine(parts: EngineParts) {
  const { commits, readClock } = parts;
  const { saveEvents, addToTrail, addLines, intend, eventsSaved } = fillDraft(parts);
  const wheel = createWakeWheel<Kept<unknown>>();
  const hosts = new Map<string, Hosted>();
  const mailbox: Letter[] = [];
  let delivering = false;

  function host<K extends Kept<R>, R, S, C, A>(room: Room<K, R, S, C, A>): Host<K, S, A> {
    const { machine } = room;

    function run(kept: K, signal: S, moment: Moment, raw?: string): A {
      const before = kept.record;
      const context = room.contextOf(kept, signal, moment);
      const stepped = machine.step(before, signal, context);
      kept.record = stepped.record;
      for (const action of stepped.actions) intend(action, moment.time);
      const turn = { kept, before, signal, context, stepped, moment, raw };
      room.keep(turn);
      wheel.file(kept);
      if (stepped.letters !== undefined) mailbox.push(...stepped.letters);
      room.after?.(turn);
      return stepped.reply;
    }

    hosts.set(machine.name, {
      deliver(id, signal, moment) {
        if (id === null) return room.hear?.(signal, moment);
        const kept = room.find(id, moment);
        if (kept !== undefined) run(kept, signal as S, moment);
      },
      wake: (kept, moment) => room.wake(kept as K, moment),
    });
    return {
      run,
      submit(kept, signal, moment, raw) {
        const reply = run(kept, signal, moment, raw);
        try {
          deliver(moment);
        } finally {
          commits.schedule();
        }
        return reply;
      },
    };
  }

  const post = (machine: string, id: string | null, signal: unknown): void => {
    mailbox.push({ machine, id, signal });
  };

  /**
   * Delivers letters in the order they were posted, until the mailbox is empty. A step that throws has changed nothing;
   * the letters behind its own are still delivered, because what they are about is saved. Then the first error is thrown.
   */
  function deliver(moment: Moment): void {
    if (delivering || mailbox.length === 0) return;
    delivering = true;
    const errors: unknown[] = [];
    for (let i = 0; i < mailbox.length; i++) {
      try {
        deliverOne(mailbox[i] as Letter, moment);
      } catch (error) {
        errors.push(error);
      }
    }
    mailbox.length = 0;
    delivering = false;
    if (errors.length > 0) throw errors[0];
  }

  function deliverOne({ machine, id, signal }: Letter, moment: Moment): void {
    const hosted = hosts.get(machine);
    if (hosted === undefined) throw new Error(`a letter to ${machine}, which nobody hosts`);
    hosted.deliver(id, signal, moment);
  }

  return {
    host,
    post,
    deliver,
    file: wheel.file,
    /** Takes the things whose deadline has come; each is woken by its own room. */
    takeDue: wheel.takeDue,
    wake: (kept: Kept<unknown>, moment: Moment): void => hosts.get(kept.machine)?.wake(kept, moment),
    /** The one way in from outside: refuses while nothing can be saved, and reads the clock once. */
    begin(): Moment {
      commits.refuseWhileDown();
      return readClock();
    },
    saveEvents,
    addToTrail,
    addLines,
    intend,
    eventsSaved,
  };
}

export type Engine = ReturnType<typeof createEngine>;

/** Puts events, actions and audit lines into the next commit. An event that people may ask about leaves a line. */
function fillDraft(parts: EngineParts) {
  const { commits, audit } = parts;
  let { lastEventId } = parts;

  function saveEvents(
    events: readonly RouseEvent[],
    time: EpochMs,
    agentId: string | null,
    policy: string | null = null,
  ): void {
    const draft = commits.draft();
    for (const event of events) {
      draft.events.push({ id: ++lastEventId, time, agentId, event });
      const line = auditLineOf(event, time, policy);
      if (line !== null) addToTrail(line);
    }
  }

  const addToTrail = (line: NewAuditLine): void => addLines([audit.append(line), ...audit.sealWhenDue(line.time)]);

  /** Lines that the trail has just made. */
  function addLines(lines: readonly AuditRecord[]): void {
    const draft = commits.draft();
    for (const line of lines) {
      draft.audit.push(line);
      draft.marks[auditHeadMark] = auditHead(line);
    }
  }

  function intend(action: Action, time: EpochMs): void {
    commits
      .draft()
      .actions.push({ key: action.key, agentId: action.agentId, createdAt: time, body: JSON.stringify(action) });
  }

  return { saveEvents, addToTrail, addLines, intend, eventsSaved: (): number => lastEventId - parts.lastEventId };
}
