import { type PresetName, presetNames } from "@rouse/contract";
import { checkShape } from "./check-shape.ts";
import { type ConfigDocument, documentSchema } from "./config-document.ts";
import type { ConfigProblem } from "./config-problem.ts";
import type { Layer } from "./layer.ts";
import type { ParsedText } from "./parse-yaml.ts";
import { fillEmptySections, isGroup, valueAt } from "./schema-node.ts";

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
