import { type PresetName, parseDuration, presetNames } from "@rouse/contract";
import { checkShape } from "./check-shape.ts";
import {
  botboxSchema,
  type ConfigDocument,
  documentSchema,
  overrideGroups,
  settingsSchema,
} from "./config-document.ts";
import { type ConfigProblem, describeFound, type Layer, type Locate } from "./config-problem.ts";
import { type NamedText, type ParsedText, parseYaml } from "./parse-yaml.ts";
import { fillEmptySections, isGroup, valueAt } from "./schema-node.ts";
import { type Environment, givenIn, type Variable } from "./variables.ts";

export interface ConfigSources {
  /** config.yaml, or a `.json` file in either form. */
  readonly file?: NamedText | null;
  /** `.botbox.json` of the working folder; counts only when it has `agents.health`. */
  readonly botbox?: NamedText | null;
  readonly environment?: Environment;
}

export interface SourcesReading {
  readonly document: DocumentReading;
  /** Weakest first. */
  readonly layers: readonly Layer[];
  readonly names: readonly string[];
  readonly problems: readonly ConfigProblem[];
}

/** Reads each source by itself: what it says and what is wrong with it. */
export function readSources(sources: ConfigSources): SourcesReading {
  const files = readFiles(sources.file ?? null, sources.botbox ?? null);
  const environment = readEnvironment(sources.environment ?? {});
  const used = environment.names.length === 0 ? [] : [`environment: ${environment.names.join(", ")}`];
  return {
    document: files.document,
    layers: [...files.layers, environment.layer],
    names: [`preset ${files.document.preset}`, ...files.names, ...used],
    problems: [...files.problems, ...environment.problems],
  };
}

const nothing: ParsedText = { value: undefined, locate: () => ({ file: null, path: "" }), problems: [] };

function readFiles(file: NamedText | null, botboxFile: NamedText | null): SourcesReading {
  const parsed = file ? parseYaml(file) : nothing;
  // A file in botbox form that was named with --config replaces the one in the working folder.
  if (file && isInBotboxForm(file.name, parsed.value)) {
    const { layer, problems } = readBotbox(parsed);
    return {
      document: readDocument(nothing),
      layers: [layer],
      names: [file.name],
      problems: [...parsed.problems, ...problems],
    };
  }
  const document = readDocument(parsed);
  const botboxText = botboxFile ? parseYaml(botboxFile) : nothing;
  const botbox = valueAt(botboxText.value, botboxHealth) === undefined ? null : readBotbox(botboxText);
  return {
    document,
    layers: [document.layer, ...(botbox ? [withoutStops(botbox.layer, document.layer)] : [])],
    names: [...(file ? [file.name] : []), ...(botbox && botboxFile ? [botboxFile.name] : [])],
    problems: [...parsed.problems, ...document.problems, ...botboxText.problems, ...(botbox?.problems ?? [])],
  };
}

const stopRules = [
  ["terminal", "auto_kill_on_idle"],
  ["terminal", "auto_kill_on_repeated_error"],
] as const;

/** A file in a working folder may be anybody's: it cannot switch on a stop that the owner's file switched off. */
function withoutStops(botbox: Layer, owners: Layer): Layer {
  const values = structuredClone(botbox.values) as Record<string, Record<string, unknown> | undefined>;
  for (const [group, name] of stopRules) {
    const isRefused = valueAt(owners.values, [group, name]) === false && values[group]?.[name] === true;
    if (isRefused) delete values[group]?.[name];
  }
  return { ...botbox, values };
}

interface DocumentReading {
  readonly preset: PresetName;
  readonly layer: Layer;
  /** One for each policy, family, model, agent type, task and agent with settings of its own. */
  readonly overrides: readonly Layer[];
  /** Safe to use only when there are no problems. */
  readonly document: ConfigDocument;
  readonly problems: readonly ConfigProblem[];
}

/** Takes config.yaml apart. An empty file is an empty document: everything comes from the preset. */
function readDocument(parsed: ParsedText): DocumentReading {
  const filled = parsed.value == null ? {} : fillEmptySections(parsed.value, documentSchema.node);
  const preset = valueAt(filled, ["preset"]);
  return {
    preset: presetNames.find((name) => name === preset) ?? "default",
    layer: layerAt(parsed, filled, ["health_monitoring"]),
    overrides: overrideGroups.flatMap((group) => overridesIn(parsed, filled, group)),
    document: filled as ConfigDocument,
    problems: checkShape(documentSchema, filled, parsed.locate),
  };
}

const layerAt = (parsed: ParsedText, filled: unknown, place: readonly string[]): Layer => ({
  values: valueAt(filled, place) ?? {},
  locate: (path, part) => parsed.locate([...place, ...path], part),
});

function overridesIn(parsed: ParsedText, filled: unknown, group: string): Layer[] {
  const entries = valueAt(filled, [group]);
  return isGroup(entries) ? Object.keys(entries).map((id) => layerAt(parsed, filled, [group, id])) : [];
}

/** The only part of a `.botbox.json` that is ours; the rest belongs to other tools. */
const botboxHealth = ["agents", "health"];

/** A `.json` file may be our configuration, which names `health_monitoring` or `preset`, or one of botbox. */
function isInBotboxForm(name: string, value: unknown): boolean {
  if (!name.endsWith(".json") || !isGroup(value)) return false;
  return !Object.hasOwn(value, "health_monitoring") && !Object.hasOwn(value, "preset");
}

/** `agents.health` of botbox is our `terminal`, except `enabled`, which means the same in both. */
function readBotbox(parsed: ParsedText): Pick<DocumentReading, "layer" | "problems"> {
  const given = valueAt(parsed.value, botboxHealth);
  if (given === undefined) {
    const message = "found neither health_monitoring nor agents.health in it";
    return { layer: { values: {}, locate: parsed.locate }, problems: [{ ...parsed.locate([]), message }] };
  }
  const health = fillEmptySections(given, botboxSchema.node);
  const problems = checkShape(botboxSchema, health, (path, part) => parsed.locate([...botboxHealth, ...path], part));
  const locate: Locate = (path, part) => {
    const inside = path[0] === "terminal" ? path.slice(1) : path;
    return parsed.locate([...botboxHealth, ...inside], inside.length === 0 ? "key" : part);
  };
  return { layer: { values: asSettings(health), locate }, problems };
}

function asSettings(health: unknown): unknown {
  if (!isGroup(health)) return {};
  const { enabled, ...terminal } = health;
  return {
    ...(enabled === undefined ? {} : { enabled }),
    ...(Object.keys(terminal).length === 0 ? {} : { terminal }),
  };
}

const expected = {
  duration: "a duration such as 60s, 5m or 1h, or a number of seconds",
  number: "a number",
  flag: "true or false (1 and 0 work too)",
} as const;

function readEnvironment(environment: Environment) {
  const values: Record<string, Record<string, unknown>> = {};
  const problems: ConfigProblem[] = [];
  const given = givenIn(environment);
  for (const { name, setting, kind } of given) {
    const text = environment[name] ?? "";
    const value = parseVariable(text.trim(), kind);
    if (value === null) {
      problems.push({ file: null, path: name, message: `found ${describeFound(text)}, expected ${expected[kind]}` });
      continue;
    }
    const [section, key] = setting;
    values[section] = { ...values[section], [key]: value };
  }
  const locate: Locate = (path) => ({ file: null, path: namesUnder(path.map(String), given) });
  problems.push(...checkShape(settingsSchema, values, locate));
  return { layer: { values, locate }, names: given.map(({ name }) => name), problems };
}

function parseVariable(text: string, kind: Variable["kind"]): number | boolean | null {
  switch (kind) {
    case "duration": {
      const duration = parseDuration(text);
      return duration === null ? null : duration / 1000;
    }
    case "number":
      return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : null;
    case "flag":
      if (/^(true|1)$/i.test(text)) return true;
      return /^(false|0)$/i.test(text) ? false : null;
  }
}

/** A section has no variable of its own: it is named by all variables that were given for it. */
const namesUnder = (path: readonly string[], given: readonly Variable[]): string =>
  given
    .filter(({ setting }) => path.every((part, i) => setting[i] === part))
    .map(({ name }) => name)
    .join(", ");
