import { parseDuration } from "@rouse/contract";
import { checkShape } from "./check-shape.ts";
import { settingsSchema } from "./config-document.ts";
import { type ConfigProblem, describeFound, type Locate } from "./config-problem.ts";
import type { Layer } from "./layer.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

interface Variable {
  readonly name: string;
  readonly setting: readonly [string, string];
  readonly kind: "duration" | "number" | "flag";
}

export const variables: readonly Variable[] = [
  { name: "RESTART_COOLDOWN", setting: ["restart", "cooldown_seconds"], kind: "duration" },
  { name: "MAX_RESTART_ATTEMPTS", setting: ["restart", "max_attempts"], kind: "number" },
  { name: "ESCALATION_WINDOW", setting: ["restart", "escalation_window_seconds"], kind: "duration" },
  { name: "ANOMALY_THRESHOLD", setting: ["anomaly", "threshold"], kind: "number" },
  { name: "ANOMALY_CONSECUTIVE", setting: ["anomaly", "consecutive"], kind: "number" },
  { name: "ACK_SLA", setting: ["escalation", "ack_sla_seconds"], kind: "duration" },
  { name: "DIAG_ON_ANOMALY", setting: ["anomaly", "diagnose_on_anomaly"], kind: "flag" },
  { name: "DIAG_ON_RESTART_ESCALATION", setting: ["anomaly", "diagnose_on_restart_escalation"], kind: "flag" },
];

const expected = {
  duration: "a duration such as 60s, 5m or 1h, or a number of seconds",
  number: "a number",
  flag: "true or false (1 and 0 work too)",
} as const;

export interface EnvironmentReading {
  readonly layer: Layer;
  readonly names: readonly string[];
  readonly problems: readonly ConfigProblem[];
}

/** An empty variable is one that is not set: that is how shells and compose files leave one out. */
export function readEnvironment(environment: Environment): EnvironmentReading {
  const values: Record<string, Record<string, unknown>> = {};
  const problems: ConfigProblem[] = [];
  const given = variables.filter(({ name }) => (environment[name] ?? "").trim() !== "");
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

/** A section has no variable of its own: it stands for all that were given of it. */
const namesUnder = (path: readonly string[], given: readonly Variable[]): string =>
  given
    .filter(({ setting }) => path.every((part, i) => setting[i] === part))
    .map(({ name }) => name)
    .join(", ");
