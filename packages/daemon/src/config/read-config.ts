import {
  Fault,
  type KillBudget,
  killBudgetFrom,
  overlay,
  type Policy,
  type PresetName,
  presetNames,
  type RetentionPolicy,
  retentionFrom,
  type SelfCheckPolicy,
  type Settings,
  selfCheckFrom,
  settingsOf,
} from "@rouse/contract";
import { type ConfigNotice, checkAddresses, checkPatterns, checkRelations, noteIneffective } from "./check-settings.ts";
import { choosePolicy, freezeDeep, type Overrides, type PolicySubject } from "./choose-policy.ts";
import { type ConfigProblem, describeProblem } from "./config-problem.ts";
import { type ConfigSources, readSources, type SourcesReading } from "./read-sources.ts";

/** Parsed once, whole and frozen. */
export interface Config {
  readonly preset: PresetName;
  readonly settings: Settings;
  readonly overrides: Overrides;
  readonly selfCheck: SelfCheckPolicy;
  readonly killBudget: KillBudget;
  readonly retention: RetentionPolicy;
  /** What was read, weakest first, for people. */
  readonly sources: readonly string[];
  /** Settings of the user that change nothing. */
  readonly notices: readonly ConfigNotice[];
  policyFor(agent: PolicySubject): Policy;
  /** The settings that `policyFor` was made from. */
  settingsFor(agent: PolicySubject): Settings;
  /** The policies an agent may be started with: the presets, and those of the file. */
  policyNames(): readonly string[];
}

export type ConfigReading =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

/** All or nothing: preset ← file ← .botbox.json ← environment, then overrides by policy, type, task and agent. */
export function readConfig(sources: ConfigSources): ConfigReading {
  const read = readSources(sources);
  const problems = [...read.problems, ...furtherProblems(read)];
  return problems.length > 0 ? { ok: false, problems: inOrder(problems) } : { ok: true, config: assemble(read) };
}

/** Throws one fault with a line for every problem. */
export function requireConfig(reading: ConfigReading): Config {
  if (reading.ok) return reading.config;
  throw new Fault("config-invalid", reading.problems.map(describeProblem).join("\n"));
}

/** Problems of values that have the right shape. */
function furtherProblems({ document, layers, problems }: SourcesReading): ConfigProblem[] {
  const told = new Set(problems.map((problem) => problem.path));
  const preset = settingsOf(document.preset);
  return [
    ...checkPatterns([...layers, ...document.overrides], told),
    ...checkAddresses(layers, told),
    ...checkRelations(preset, layers, 0, told),
    ...document.overrides.flatMap((one) => checkRelations(preset, [...layers, one], layers.length, told)),
  ];
}

/** Sorts by place in the file; what has no place comes first. */
function inOrder(problems: readonly ConfigProblem[]): ConfigProblem[] {
  const files = [...new Set(problems.map((problem) => problem.file))];
  return problems.toSorted(
    (a, b) =>
      files.indexOf(a.file) - files.indexOf(b.file) ||
      (a.line ?? 0) - (b.line ?? 0) ||
      (a.column ?? 0) - (b.column ?? 0),
  );
}

function assemble({ document: reading, layers, names }: SourcesReading): Config {
  const { preset, document } = reading;
  const settings = layers.reduce<Settings>((under, layer) => overlay(under, layer.values), settingsOf(preset));
  const overrides: Overrides = {
    policies: document.policies ?? {},
    families: document.families ?? {},
    models: document.models ?? {},
    agentTypes: document.agent_types ?? {},
    tasks: document.tasks ?? {},
    agents: document.agents ?? {},
  };
  const policyNames = [...new Set([...presetNames, ...Object.keys(overrides.policies)])];
  return freezeDeep({
    preset,
    settings,
    overrides,
    selfCheck: selfCheckFrom(settings),
    killBudget: killBudgetFrom(settings),
    retention: retentionFrom(settings),
    sources: names,
    notices: noteIneffective(layers, reading.overrides),
    ...choosePolicy(preset, settings, overrides),
    policyNames: () => policyNames,
  });
}
