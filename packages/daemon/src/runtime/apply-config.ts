import type { Config } from "../config/read-config.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { Tasks } from "./keep-tasks.ts";
import type { Roster } from "./roster.ts";
import type { Moment } from "./steady-clock.ts";
import type { Turns } from "./turns.ts";

interface ApplyingParts {
  readonly roster: Roster;
  readonly turns: Turns;
  readonly commits: GroupCommit;
  readonly tasks: Tasks;
  readonly config: () => Config;
  readonly readClock: () => Moment;
  /** Tells the holders what is new to them. */
  readonly settle: () => void;
}

/** After the configuration has changed: everybody is looked at again by what holds now. */
export function applyConfig({ roster, turns, commits, tasks, config, readClock, settle }: ApplyingParts): void {
  const moment = readClock();
  const policy = config().policyFor({ agentId: "", agentType: null, taskId: null }).id;
  turns.saveEvents([{ type: "CONFIG_RELOADED", payload: { policy } }], moment.time, null);
  for (const watched of roster.all()) turns.wake(watched, moment);
  tasks.wakeAll(moment);
  turns.wakeConcerned(moment);
  commits.schedule();
  settle();
}
