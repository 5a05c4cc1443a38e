import type { MonoMs, RouseEvent } from "@rouse/contract";
import type { Machine } from "@rouse/core";
import type { KeptMachine } from "../ports/store.ts";
import type { Engine, Kept } from "./engine.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { Moment } from "./steady-clock.ts";

interface HostingParts<R, S, C, A> {
  readonly engine: Pick<Engine, "host" | "saveEvents" | "file">;
  readonly commits: Pick<GroupCommit, "saveMachine">;
  readonly machine: Machine<R, S, C, A>;
  /** The record of a thing that nobody has heard of yet. */
  readonly begin: (id: string, now: MonoMs) => R;
  readonly contextOf: (now: MonoMs, id: string) => C;
  /** The agent that events of a thing are about. */
  readonly agentOf: (id: string) => string | null;
  readonly wakeSignal?: S;
  /** Hears how many events of a thing are saved. */
  readonly noteEvents?: (id: string, count: number, moment: Moment) => void;
  /** Takes letters to the whole room. */
  readonly hear?: (signal: unknown, moment: Moment) => void;
}

/** Hosts a machine whose records are saved with every change, and whose things begin with their first signal. */
export function hostMachine<R, S, C, A>(parts: HostingParts<R, S, C, A>) {
  const { engine, commits, machine, contextOf, agentOf, wakeSignal } = parts;
  const things = new Map<string, Kept<R>>();

  function add(id: string, record: R): Kept<R> {
    const kept: Kept<R> = { machine: machine.name, id, record, slot: null, wakeAt: () => machine.wakeAt(kept.record) };
    things.set(id, kept);
    return kept;
  }

  const find = (id: string, { now }: Moment): Kept<R> => things.get(id) ?? add(id, parts.begin(id, now));

  /** Saves a record as it is when the commit starts; the record of a thing forgotten meanwhile is removed. */
  function save(id: string): void {
    commits.saveMachine(machine.name, id, () => {
      const kept = things.get(id);
      return { record: kept === undefined ? null : machine.serialise(kept.record), overAt: null };
    });
  }

  const saveEvents = (events: readonly RouseEvent[], id: string, { time }: Moment): void => {
    if (events.length > 0) engine.saveEvents(events, time, agentOf(id));
  };

  const host = engine.host<Kept<R>, R, S, C, A>({
    machine,
    find,
    contextOf: ({ id }, _, { now }) => contextOf(now, id),
    keep({ kept, before, stepped, moment }) {
      saveEvents(stepped.events, kept.id, moment);
      if (stepped.events.length > 0) parts.noteEvents?.(kept.id, stepped.events.length, moment);
      if (kept.record !== before) save(kept.id);
    },
    hear: (signal, moment) => parts.hear?.(signal, moment),
    wake(kept, moment) {
      if (wakeSignal !== undefined) host.run(kept, wakeSignal, moment);
    },
  });

  return {
    find: (id: string): R | null => things.get(id)?.record ?? null,
    submit: (id: string, signal: S, moment: Moment): A => host.submit(find(id, moment), signal, moment),
    /** Like `submit`, but delivers no letters: for a caller that is itself in the middle of a step. */
    run: (id: string, signal: S, moment: Moment): A => host.run(find(id, moment), signal, moment),
    restore(saved: readonly KeptMachine[]): void {
      for (const { machine: name, id, record } of saved)
        if (name === machine.name) engine.file(add(id, machine.restore(record)));
    },
    forget(id: string): R | null {
      const record = things.get(id)?.record ?? null;
      if (things.delete(id)) save(id);
      return record;
    },
  };
}
