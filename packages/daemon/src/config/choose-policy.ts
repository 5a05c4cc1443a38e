import { createHash } from "node:crypto";
import {
  type BeatPromise,
  canonicalJson,
  keepPromise,
  overlay,
  type PartialSettings,
  type Policy,
  type PresetName,
  policyFrom,
  presetNames,
  type Settings,
  settingsOf,
} from "@rouse/contract";
import type { AgentRecord, Signal } from "@rouse/core";
import { settleRelations } from "./check-settings.ts";

export interface PolicySubject {
  readonly agentId: string;
  readonly agentType: string | null;
  readonly taskId: string | null;
  /** Name of the policy it was started with. One that is not known counts as none. */
  readonly policy?: string | null;
  /** How often it promised to be heard: goes before what its settings say of beats. */
  readonly promise?: BeatPromise | null;
  /** What its terminal or its stream says it is. */
  readonly terminal?: { readonly family: string; readonly session: { readonly model: string | null } | null } | null;
}

/** By what a signal is judged. A life is judged by what it was started with from its first moment on: its record says so only afterwards. */
export function policySubject(record: AgentRecord, signal?: Signal): PolicySubject {
  const { agentId, identity, life, task, seen } = record;
  const { agentType, policy } = identity;
  const known = { agentId, agentType, taskId: task.id, policy, promise: life.promise, terminal: seen.terminal };
  if (signal?.kind !== "held" || signal.hold.incarnation < life.incarnation) return known;
  const { hold } = signal;
  return {
    agentId,
    agentType: hold.agentType ?? agentType,
    taskId: hold.taskId ?? task.id,
    policy: hold.policy ?? policy,
    promise: life.promise,
    terminal: { family: hold.family, session: null },
  };
}

export interface Overrides {
  readonly policies: Readonly<Record<string, PartialSettings>>;
  readonly families: Readonly<Record<string, PartialSettings>>;
  readonly models: Readonly<Record<string, PartialSettings>>;
  readonly agentTypes: Readonly<Record<string, PartialSettings>>;
  readonly tasks: Readonly<Record<string, PartialSettings>>;
  readonly agents: Readonly<Record<string, PartialSettings>>;
}

/** The same choice twice: as core reads it, and as the configuration writes it. */
interface ChosenPolicy {
  readonly policy: Policy;
  readonly settings: Settings;
}

interface PolicyChoice {
  policyFor(subject: PolicySubject): Policy;
  settingsFor(subject: PolicySubject): Settings;
}

/** More combinations than this are worked out again when they come back. */
const mostPolicies = 10_000;

/**
 * Says which policy an agent is judged by: the one it was started with, then program, model, type, task and the agent's own settings on top. It
 * is asked on every heartbeat, so equal combinations get the same object, and without overrides there is nothing to look up.
 */
export function choosePolicy(preset: PresetName, settings: Settings, overrides: Overrides): PolicyChoice {
  const shared = chosen(preset, settings);
  const policies = namedPolicies(settings, overrides.policies);
  const families = new Map(Object.entries(overrides.families));
  const models = new Map(Object.entries(overrides.models));
  const types = new Map(Object.entries(overrides.agentTypes));
  const tasks = new Map(Object.entries(overrides.tasks));
  const agents = new Map(Object.entries(overrides.agents));
  const alike = families.size + models.size + types.size + tasks.size + agents.size === 0;

  const known = new Map<string, ChosenPolicy>();
  const lookUp = ({ agentId, agentType, taskId, policy, terminal }: PolicySubject): ChosenPolicy => {
    const base = isNamed(policy) ? policies.get(policy) : undefined;
    const family = terminal == null ? undefined : families.get(terminal.family);
    const modelName = terminal?.session?.model ?? null;
    const model = modelName === null ? undefined : models.get(modelName);
    const type = agentType === null ? undefined : types.get(agentType);
    const task = taskId === null ? undefined : tasks.get(taskId);
    const agent = agents.get(agentId);
    if (!base && !family && !model && !type && !task && !agent) return shared;

    // Only names from the file are part of the key, so agents cannot fill the cache with inventions.
    const key = JSON.stringify([
      base && policy,
      family && terminal?.family,
      model && modelName,
      type && agentType,
      task && taskId,
      agent && agentId,
    ]);
    const found = known.get(key);
    if (found) return found;
    const layers = [family, model, type, task, agent];
    const merged = settleRelations(layers.reduce<Settings>(overlay, base ?? settings));
    const choice = chosen((base && policy) ?? preset, merged);
    forgetOldest(known);
    known.set(key, choice);
    return choice;
  };
  const choose = (subject: PolicySubject) => (alike && !isNamed(subject.policy) ? shared : lookUp(subject));

  const promised = new Map<string, ChosenPolicy>();
  const withPromise = (choice: ChosenPolicy, promise: BeatPromise): ChosenPolicy => {
    const key = `${choice.policy.id} ${promise.every} ${promise.grace}`;
    const found = promised.get(key);
    if (found) return found;
    const kept = Object.freeze({ ...choice, policy: keepPromise(choice.policy, promise) });
    forgetOldest(promised);
    promised.set(key, kept);
    return kept;
  };
  const chosenFor = (subject: PolicySubject): ChosenPolicy =>
    subject.promise ? withPromise(choose(subject), subject.promise) : choose(subject);
  return {
    policyFor: (subject) => chosenFor(subject).policy,
    settingsFor: (subject) => chosenFor(subject).settings,
  };
}

const isNamed = (policy: string | null | undefined): policy is string => policy !== null && policy !== undefined;

/** A preset's name means the preset as it ships, whatever the file changes of it, unless the file has a policy of that name. */
function namedPolicies(settings: Settings, own: Overrides["policies"]): ReadonlyMap<string, Settings> {
  return new Map<string, Settings>([
    ...presetNames.map((name) => [name, settingsOf(name)] as const),
    ...Object.entries(own).map(([name, policy]) => [name, overlay(settings, policy)] as const),
  ]);
}

const chosen = (name: string, settings: Settings): ChosenPolicy =>
  Object.freeze({ policy: policyFrom(policyId(name, settings), settings), settings: freezeDeep(settings) });

/** Name and fingerprint: two policies with the same id decide the same. */
function policyId(name: string, settings: Settings): string {
  const print = createHash("sha256").update(canonicalJson(settings)).digest("hex");
  return `${name}@${print.slice(0, 8)}`;
}

function forgetOldest(known: Map<string, ChosenPolicy>): void {
  if (known.size < mostPolicies) return;
  const oldest = known.keys().next();
  if (!oldest.done) known.delete(oldest.value);
}

/** Freezes a value and all it holds. What is frozen already is taken to be frozen all the way down. */
export function freezeDeep<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) freezeDeep(inner);
  return value;
}
