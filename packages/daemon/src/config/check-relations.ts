import { overlay, type Settings } from "@rouse/contract";
import type { ConfigProblem, Layer } from "./config-problem.ts";
import { valueAt } from "./schema-node.ts";

type SettingPath = readonly [section: string, key: string];

interface Relation {
  readonly smaller: SettingPath;
  readonly larger: SettingPath;
}

const relations: readonly Relation[] = [
  { smaller: ["heartbeat", "interval_seconds"], larger: ["heartbeat", "timeout_seconds"] },
  {
    smaller: ["health_check", "checkpoint_degraded_threshold_seconds"],
    larger: ["health_check", "checkpoint_stale_threshold_seconds"],
  },
];

/**
 * Settings that contradict each other once the layers lie on top of one another. Contradictions among the layers before `since`
 * are not told again, nor are those with a value that is already `told` to be wrong by itself.
 */
export function checkRelations(
  preset: Settings,
  layers: readonly Layer[],
  since: number,
  told: ReadonlySet<string>,
): ConfigProblem[] {
  return relations.flatMap((relation) => {
    const smaller = lastWord(preset, layers, relation.smaller);
    const larger = lastWord(preset, layers, relation.larger);
    if (typeof smaller.value !== "number" || typeof larger.value !== "number") return [];
    if (smaller.value <= larger.value || Math.max(smaller.layer, larger.layer) < since) return [];
    const places = [smaller, larger].map((word) => word.place?.path);
    if (places.some((path) => path !== undefined && told.has(path))) return [];
    return describeContradiction(relation, smaller, larger);
  });
}

interface LastWord {
  readonly value: unknown;
  /** -1: the preset's. */
  readonly layer: number;
  readonly place: ReturnType<Layer["locate"]> | null;
}

function lastWord(preset: Settings, layers: readonly Layer[], path: SettingPath): LastWord {
  const index = layers.findLastIndex((layer) => valueAt(layer.values, path) !== undefined);
  const layer = layers[index];
  if (!layer) return { value: valueAt(preset, path), layer: -1, place: null };
  return { value: valueAt(layer.values, path), layer: index, place: layer.locate(path) };
}

/** Told where the later of the two was written: that is the line the user changed. */
function describeContradiction(relation: Relation, smaller: LastWord, larger: LastWord): ConfigProblem[] {
  if (larger.place && larger.layer >= smaller.layer) {
    const message = `found ${larger.value}, expected at least ${relation.smaller.join(".")}, which is ${smaller.value}`;
    return [{ ...larger.place, message }];
  }
  const message = `found ${smaller.value}, expected at most ${relation.larger.join(".")}, which is ${larger.value}`;
  return smaller.place ? [{ ...smaller.place, message }] : [];
}

/**
 * Two overrides, each fine by itself, may contradict each other on the one agent both apply to; nobody can know that before the
 * agent appears. Then the larger value is raised: patience is the side that harms no healthy agent.
 */
export function settleRelations(settings: Settings): Settings {
  return relations.reduce((settled, { smaller, larger }) => {
    const least = valueAt(settled, smaller);
    const given = valueAt(settled, larger);
    if (typeof least !== "number" || typeof given !== "number" || least <= given) return settled;
    return overlay(settled, { [larger[0]]: { [larger[1]]: least } });
  }, settings);
}
