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
  /** Name of the policy the agent was started with. An unknown name counts as none. */
  readonly policy?: string | null;
  /** How often the agent promised to be heard: takes precedence over the settings for beats. */
  readonly promise?: BeatPromise | null;
  /** Which program and model its terminal or stream shows. */
  readonly terminal?: { readonly family: string; readonly session: { readonly model: string | null } | null } | null;
}

/** The subject of the policy for the fleet as a whole: nothing of one agent is part of it. */
export const noAgent: PolicySubject = { agentId: "", agentType: null, taskId: null };

/**
 * What the policy for a signal is chosen by. A new life is judged by its own start, which its record shows only later.
 */
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

/** Beyond this many combinations the oldest is forgotten, and worked out again when it comes back. */
const mostPolicies = 10_000;

/**
 * Chooses the policy that an agent is judged by: the one it was started with, then the settings for its program,
 * model, type, task and name on top. Every heartbeat asks, so equal combinations get the same object, and without
 * overrides nothing is looked up.
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

/**
 * A preset's name means the preset as it ships, whatever the file changes in it, unless the file has a policy of that
 * name.
 */
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

/** Freezes a value and all it holds. A value that is frozen already is taken to be frozen all the way down. */
export function freezeDeep<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) freezeDeep(inner);
  return value;
}
