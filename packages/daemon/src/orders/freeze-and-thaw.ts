import type { Agents } from "../agents/host-agents.ts";
import type { Engine } from "../engine/engine.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { Frozen, SelfDoubt } from "../engine/self-doubt.ts";
import type { Moment } from "../engine/steady-clock.ts";
import type { Tasks } from "../tasks/host-tasks.ts";

interface FreezingParts {
  readonly engine: Engine;
  readonly agents: Agents;
  readonly commits: GroupCommit;
  readonly doubt: SelfDoubt;
  readonly tasks: Tasks;
  readonly readClock: () => Moment;
}

/** A person's word that nothing may be done to anybody, and its end. It outlives the monitor. */
export function freezeAndThaw({ engine, agents, commits, doubt, tasks, readClock }: FreezingParts) {
  async function setFrozen(frozen: boolean, actor: string, reason: string, as?: string): Promise<void> {
    const moment = engine.begin();
    const order = { actor, reason, ...(as === undefined ? {} : { as }) };
    const by: Frozen | null = frozen ? { since: moment.now, ...order } : null;
    commits.draft().marks["frozen"] = by === null ? null : JSON.stringify(by);
    const type = frozen ? "MONITOR_FROZEN" : "MONITOR_THAWED";
    engine.saveEvents([{ type, payload: order }], moment.time, null);
    await commits.saved();
    doubt.freeze(by);
    if (!frozen) wakeHeld(readClock());
  }

  /** What was put off by the freeze is looked at again. */
  function wakeHeld(moment: Moment): void {
    agents.wakeAll(moment, ({ seen, ladder }) => seen.terminal !== null || ladder.incident !== null);
    tasks.wakeAll(moment);
    engine.deliver(moment);
    commits.schedule();
  }

  return {
    freeze: (actor: string, reason: string, as?: string) => setFrozen(true, actor, reason, as),
    thaw: (actor: string, reason: string, as?: string) => setFrozen(false, actor, reason, as),
  };
}
