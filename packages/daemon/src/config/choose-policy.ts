import { createHash } from "node:crypto";
import {
  overlay,
  type PartialSettings,
  type Policy,
  type PresetName,
  policyFrom,
  type Settings,
} from "@rouse/contract";
import { canonicalize } from "json-canonicalize";
import { settleRelations } from "./check-relations.ts";

export interface PolicySubject {
  readonly agentId: string;
  readonly agentType: string | null;
  readonly taskId: string | null;
}

export interface Overrides {
  readonly agentTypes: Readonly<Record<string, PartialSettings>>;
  readonly tasks: Readonly<Record<string, PartialSettings>>;
  readonly agents: Readonly<Record<string, PartialSettings>>;
}

/** More combinations than this are worked out again when they come back. */
const mostPolicies = 10_000;

/**
 * Says which policy an agent is judged by: type, then task, then the agent's own settings on top. It is asked on every heartbeat,
 * so equal combinations get the same object, and without overrides there is nothing to look up.
 */
export function choosePolicy(
  preset: PresetName,
  settings: Settings,
  overrides: Overrides,
): (subject: PolicySubject) => Policy {
  const shared = policyFrom(policyId(preset, settings), settings);
  const types = new Map(Object.entries(overrides.agentTypes));
  const tasks = new Map(Object.entries(overrides.tasks));
  const agents = new Map(Object.entries(overrides.agents));
  if (types.size + tasks.size + agents.size === 0) return () => shared;

  const known = new Map<string, Policy>();
  return ({ agentId, agentType, taskId }) => {
    const type = agentType === null ? undefined : types.get(agentType);
    const task = taskId === null ? undefined : tasks.get(taskId);
    const agent = agents.get(agentId);
    if (!type && !task && !agent) return shared;

    // Only names from the file are part of the key, so agents cannot fill the cache with inventions.
    const key = JSON.stringify([type && agentType, task && taskId, agent && agentId]);
    const found = known.get(key);
    if (found) return found;
    const merged = settleRelations([type, task, agent].reduce<Settings>(overlay, settings));
    const policy = policyFrom(policyId(preset, merged), merged);
    forgetOldest(known);
    known.set(key, policy);
    return policy;
  };
}

/** Name and fingerprint: two policies with the same id decide the same. */
export function policyId(preset: PresetName, settings: Settings): string {
  const print = createHash("sha256").update(canonicalize(settings)).digest("hex");
  return `${preset}@${print.slice(0, 8)}`;
}

function forgetOldest(known: Map<string, Policy>): void {
  if (known.size < mostPolicies) return;
  const oldest = known.keys().next();
  if (!oldest.done) known.delete(oldest.value);
}
