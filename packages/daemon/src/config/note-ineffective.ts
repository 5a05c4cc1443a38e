import { settingsWithoutEffect } from "@rouse/contract";
import type { Layer, Place } from "./config-problem.ts";
import { isGroup, valueAt } from "./schema-node.ts";

/** Something the user set that changes nothing, and why. Not an error: the file is right, Rouse is not there yet. */
export interface ConfigNotice extends Place {
  readonly message: string;
}

const notYet = "no effect yet in this version";
const monitorOnly = "no effect here: it belongs to the whole monitor, so set it under health_monitoring";

/** What of a setting's section counts for one agent; the rest of these sections is for the monitor as a whole. */
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
