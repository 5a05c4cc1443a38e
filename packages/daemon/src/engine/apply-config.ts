import { createHash } from "node:crypto";
import type { Roster } from "../agents/roster.ts";
import type { Turns } from "../agents/turns.ts";
import type { Config } from "../config/read-config.ts";
import type { Resumption } from "../ports/store.ts";
import type { Tasks } from "../tasks/keep-tasks.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { Moment } from "./steady-clock.ts";

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
  markPolicies(commits, config());
  commits.schedule();
  settle();
}

/** For the run after this one: by what everybody was judged. */
export function markPolicies(commits: Pick<GroupCommit, "draft">, config: Config): void {
  commits.draft().marks["policies"] = fingerprint(config);
}

/** The run before judged by other policies: its deadlines are not ours. */
export const haveOtherPolicies = ({ marks }: Resumption, config: Config): boolean =>
  marks["policies"] !== fingerprint(config);

const fingerprint = ({ preset, settings, overrides }: Config): string =>
  createHash("sha256")
    .update(JSON.stringify([preset, settings, overrides]))
    .digest("hex");
