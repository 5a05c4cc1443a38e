import { parseDuration } from "@rouse/contract";
import { checkShape } from "./check-shape.ts";
import { settingsSchema } from "./config-document.ts";
import { type ConfigProblem, describeFound, type Layer, type Locate } from "./config-problem.ts";
import { type Environment, givenIn, type Variable } from "./variables.ts";

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

export function readEnvironment(environment: Environment): EnvironmentReading {
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

/** A section has no variable of its own: it stands for all that were given of it. */
const namesUnder = (path: readonly string[], given: readonly Variable[]): string =>
  given
    .filter(({ setting }) => path.every((part, i) => setting[i] === part))
    .map(({ name }) => name)
    .join(", ");
