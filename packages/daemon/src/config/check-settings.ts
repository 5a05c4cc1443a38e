import { overlay, printable, type Settings, settingsWithoutEffect } from "@rouse/contract";
import { RE2JS, RE2JSException } from "re2js";
import type { ConfigProblem, Layer, Place } from "./config-problem.ts";
import { readAnchor } from "./read-anchor.ts";
import { readWebhookAddress } from "./read-webhook-address.ts";
import { isGroup, valueAt } from "./schema-node.ts";

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
 * Settings that contradict each other once the layers are overlaid. Contradictions among the layers before `since` are
 * not told again, nor are those with a value that is already `told` to be wrong by itself.
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

/** The place is that of the later value: that is the line the user changed. */
function describeContradiction(relation: Relation, smaller: LastWord, larger: LastWord): ConfigProblem[] {
  if (larger.place && larger.layer >= smaller.layer) {
    const message = `found ${larger.value}, expected at least ${relation.smaller.join(".")}, which is ${smaller.value}`;
    return [{ ...larger.place, message }];
  }
  const message = `found ${smaller.value}, expected at most ${relation.larger.join(".")}, which is ${larger.value}`;
  return smaller.place ? [{ ...smaller.place, message }] : [];
}

/**
 * Two overrides, each fine by itself, may contradict each other for an agent that both apply to, which is not known
 * before the agent appears. Then the larger value is raised: more patience harms no healthy agent.
 */
export function settleRelations(settings: Settings): Settings {
  return relations.reduce((settled, { smaller, larger }) => {
    const least = valueAt(settled, smaller);
    const given = valueAt(settled, larger);
    if (typeof least !== "number" || typeof given !== "number" || least <= given) return settled;
    return overlay(settled, { [larger[0]]: { [larger[1]]: least } });
  }, settings);
}

/**
 * Checks the text at a place, or in each entry of a list there. Texts already `told` to be wrong, by their length say,
 * are left alone.
 */
const checkTexts = (
  layers: readonly Layer[],
  told: ReadonlySet<string>,
  place: readonly string[],
  inEntry: readonly string[],
  problemWith: (text: string) => string | null,
): ConfigProblem[] =>
  layers.flatMap(({ values, locate }) => {
    const given = valueAt(values, place);
    const list: readonly unknown[] = Array.isArray(given) ? given : [];
    const entries = list.map((entry, i) => [[...place, i, ...inEntry], valueAt(entry, inEntry)] as const);
    return [[place, given] as const, ...entries].flatMap(([path, text]) => {
      const at = locate(path);
      const message = typeof text !== "string" || told.has(at.path) ? null : problemWith(text);
      return message === null ? [] : [{ ...at, message }];
    });
  });

/** Webhooks and anchors that nothing could be sent to. Overrides get a notice instead: there they have no effect. */
export function checkAddresses(layers: readonly Layer[], told: ReadonlySet<string>): ConfigProblem[] {
  const permission = layers.map(({ values }) => valueAt(values, ["escalation", "allow_private_webhook"]));
  const allowPrivate = permission.findLast((value) => value !== undefined) === true;
  const problemIn = (reading: object): string | null => ("problem" in reading ? String(reading.problem) : null);
  const inWebhook = (text: string): string | null => problemIn(readWebhookAddress(text, allowPrivate));
  return [
    ...checkTexts(layers, told, ["escalation", "webhook_url"], [], inWebhook),
    ...checkTexts(layers, told, ["audit", "anchor"], [], (text) => problemIn(readAnchor(text))),
  ];
}

/** Patterns of the user's own that cannot be compiled. */
export function checkPatterns(layers: readonly Layer[], told: ReadonlySet<string>): ConfigProblem[] {
  // A YAML anchor may put the same patterns into hundreds of overrides.
  const verdicts = new Map<string, string | null>();
  return checkTexts(layers, told, ["terminal", "patterns"], ["pattern"], (text) => {
    const known = verdicts.get(text);
    const verdict = known === undefined ? problemWithPattern(text) : known;
    verdicts.set(text, verdict);
    return verdict;
  });
}

/** In the engine's own words, which quote the part it stumbled over. */
function problemWithPattern(pattern: string): string | null {
  try {
    RE2JS.compile(pattern);
    return null;
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    const words = printable(error.message.replace(/^error parsing regexp: /, ""), 120);
    return `not a pattern that can be used: ${words}; patterns run on a linear-time engine (RE2), which has no look-around and no back-references`;
  }
}

/** A setting that changes nothing, and why. It is no error. */
export interface ConfigNotice extends Place {
  readonly message: string;
}

const notYet = "no effect yet in this version";
const monitorOnly = "no effect here: it belongs to the whole monitor, so set it under health_monitoring";

/** Settings and sections that count for the monitor as a whole, not for one agent. */
const ofTheMonitor = [
  "self_check.stall_seconds",
  "self_check.mass_silence_agents",
  "self_check.mass_silence_share",
  "self_check.mass_silence_window_seconds",
  "retention",
  "budgets",
  "audit",
  "escalation.webhook_url",
  "escalation.allow_private_webhook",
  "tasks.file",
];

export function noteIneffective(layers: readonly Layer[], overrides: readonly Layer[]): ConfigNotice[] {
  const all = [...layers, ...overrides];
  return [
    ...all.flatMap((layer) => noteSettings(layer, settingsWithoutEffect, notYet)),
    ...overrides.flatMap((layer) => noteSettings(layer, ofTheMonitor, monitorOnly)),
  ];
}

function noteSettings(layer: Layer, settings: readonly string[], message: string): ConfigNotice[] {
  return settings
    .map((setting) => setting.split("."))
    .filter((path) => saysSomething(valueAt(layer.values, path)))
    .map((path) => ({ ...layer.locate(path, "key"), message }));
}

function saysSomething(value: unknown): boolean {
  return isGroup(value) ? Object.values(value).some(saysSomething) : value !== undefined;
}
