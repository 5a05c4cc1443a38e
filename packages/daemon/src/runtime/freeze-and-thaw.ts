import type { GroupCommit } from "./group-commit.ts";
import type { Tasks } from "./keep-tasks.ts";
import type { Roster } from "./roster.ts";
import type { Frozen, SelfDoubt } from "./self-doubt.ts";
import type { Moment } from "./steady-clock.ts";
import type { Turns } from "./turns.ts";

interface FreezingParts {
  readonly roster: Roster;
  readonly turns: Turns;
  readonly commits: GroupCommit;
  readonly doubt: SelfDoubt;
  readonly tasks: Tasks;
  readonly readClock: () => Moment;
}

/** A person's word that nothing may be done to anybody, and its end. It outlives the monitor. */
export function freezeAndThaw({ roster, turns, commits, doubt, tasks, readClock }: FreezingParts) {
  async function setFrozen(frozen: boolean, actor: string, reason: string, as?: string): Promise<void> {
    const down = commits.down();
    if (down !== null) throw down;
    const moment = readClock();
    const order = { actor, reason, ...(as === undefined ? {} : { as }) };
    const by: Frozen | null = frozen ? { since: moment.now, ...order } : null;
    commits.draft().marks["frozen"] = by === null ? null : JSON.stringify(by);
    const type = frozen ? "MONITOR_FROZEN" : "MONITOR_THAWED";
    turns.saveEvents([{ type, payload: order }], moment.time, null);
    await commits.saved();
    doubt.freeze(by);
    if (!frozen) wakeHeld(readClock());
  }

  /** What was put off by the freeze is looked at again. */
  function wakeHeld(moment: Moment): void {
    for (const watched of roster.all()) {
      const { terminal } = watched.record.seen;
      const { incident } = watched.record.ladder;
      if (terminal !== null || incident !== null) turns.wake(watched, moment);
    }
    tasks.wakeAll(moment);
    turns.wakeConcerned(moment);
    commits.schedule();
  }

  return {
    freeze: (actor: string, reason: string, as?: string) => setFrozen(true, actor, reason, as),
    thaw: (actor: string, reason: string, as?: string) => setFrozen(false, actor, reason, as),
  };
}
