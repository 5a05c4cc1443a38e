import { createHash } from "node:crypto";
import type { Agents } from "../agents/host-agents.ts";
import type { Config } from "../config/read-config.ts";
import type { Resumption } from "../ports/store.ts";
import type { Tasks } from "../tasks/host-tasks.ts";
import type { Engine } from "./engine.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { Moment } from "./steady-clock.ts";

interface ApplyingParts {
  readonly engine: Engine;
  readonly agents: Agents;
  readonly commits: GroupCommit;
  readonly tasks: Tasks;
  readonly config: () => Config;
  readonly readClock: () => Moment;
  /** Tells the holders what is new to them. */
  readonly settle: () => void;
}

/** After the configuration has changed: everybody is looked at again by what holds now. */
export function applyConfig({ engine, agents, commits, tasks, config, readClock, settle }: ApplyingParts): void {
  const moment = readClock();
  const policy = config().policyFor({ agentId: "", agentType: null, taskId: null }).id;
  engine.saveEvents([{ type: "CONFIG_RELOADED", payload: { policy } }], moment.time, null);
  agents.wakeAll(moment);
  tasks.wakeAll(moment);
  engine.deliver(moment);
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
