import { createHash } from "node:crypto";
import { noAgent } from "../config/choose-policy.ts";
import type { Config } from "../config/read-config.ts";
import type { Resumption } from "../ports/store.ts";
import type { SharedServices } from "../shared-services.ts";
import type { Tasks } from "../tasks/host-tasks.ts";
import type { GroupCommit } from "./group-commit.ts";

interface ApplyingParts extends Pick<SharedServices, "engine" | "agents" | "commits" | "config" | "readClock"> {
  readonly tasks: Tasks;
  /** Gives the holders their new settings. */
  readonly settle: () => void;
}

/** Puts a changed configuration into force: every agent and task is judged again, by the new policies. */
export function applyConfig({ engine, agents, commits, tasks, config, readClock, settle }: ApplyingParts): void {
  const moment = readClock();
  const policy = config().policyFor(noAgent).id;
  engine.saveEvents([{ type: "CONFIG_RELOADED", payload: { policy } }], moment.time, null);
  agents.wakeAll(moment);
  tasks.wakeAll(moment);
  engine.deliver(moment);
  markPolicies(commits, config());
  commits.schedule();
  settle();
}

/** Saves a fingerprint of the policies in force, for the run after this one to compare with its own. */
export function markPolicies(commits: Pick<GroupCommit, "draft">, config: Config): void {
  commits.draft().marks["policies"] = fingerprint(config);
}

/** Whether the run before judged by other policies: then its deadlines do not hold any more. */
export const haveOtherPolicies = ({ marks }: Resumption, config: Config): boolean =>
  marks["policies"] !== fingerprint(config);

const fingerprint = ({ preset, settings, overrides }: Config): string =>
  createHash("sha256")
    .update(JSON.stringify([preset, settings, overrides]))
    .digest("hex");
