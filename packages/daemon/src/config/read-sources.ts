import { type PresetName, presetNames } from "@rouse/contract";
import { checkShape } from "./check-shape.ts";
import { type ConfigDocument, documentSchema } from "./config-document.ts";
import type { ConfigProblem, Layer } from "./config-problem.ts";
import { type NamedText, type ParsedText, parseYaml } from "./parse-yaml.ts";
import { hasBotboxHealth, isInBotboxForm, readBotbox } from "./read-botbox.ts";
import { readEnvironment } from "./read-environment.ts";
import { fillEmptySections, isGroup, valueAt } from "./schema-node.ts";
import type { Environment } from "./variables.ts";

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

/** Each source by itself: what it says and what is wrong with it. */
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
  // A file in botbox form that was asked for by name takes the place of the one that happens to lie in the working folder.
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
  const botbox = hasBotboxHealth(botboxText.value) ? readBotbox(botboxText) : null;
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

/** A file in a working folder may come from anybody: it does not switch on a stop that the owner's own file switched off. */
function withoutStops(botbox: Layer, owners: Layer): Layer {
  const values = structuredClone(botbox.values) as Record<string, Record<string, unknown> | undefined>;
  for (const [group, name] of stopRules) {
    const isRefused = valueAt(owners.values, [group, name]) === false && values[group]?.[name] === true;
    if (isRefused) delete values[group]?.[name];
  }
  return { ...botbox, values };
}

export interface DocumentReading {
  readonly preset: PresetName;
  readonly layer: Layer;
  /** One for each policy, agent type, task and agent that differs, to check and to speak about. */
  readonly overrides: readonly Layer[];
  /** Safe to use only when there are no problems. */
  readonly document: ConfigDocument;
  readonly problems: readonly ConfigProblem[];
}

/** Takes config.yaml apart. An empty file is an empty document: everything comes from the preset. */
export function readDocument(parsed: ParsedText): DocumentReading {
  const filled = parsed.value == null ? {} : fillEmptySections(parsed.value, documentSchema.node);
  const preset = valueAt(filled, ["preset"]);
  return {
    preset: presetNames.find((name) => name === preset) ?? "default",
    layer: layerAt(parsed, filled, ["health_monitoring"]),
    overrides: ["policies", "families", "models", "agent_types", "tasks", "agents"].flatMap((group) =>
      overridesIn(parsed, filled, group),
    ),
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
