import { parseDuration } from "@rouse/contract";
import type { z } from "zod";
import type { CheckedSchema } from "./config-document.ts";
import { type ConfigProblem, cut, describeFound, type Locate, type PathPart } from "./config-problem.ts";
import { nearestName } from "./nearest-name.ts";
import { describeExpected, nodeAt, type SchemaNode, valueAt } from "./schema-node.ts";

/** Finds every unknown key, wrong type and value out of range. */
export function checkShape(schema: CheckedSchema, value: unknown, locate: Locate): ConfigProblem[] {
  const checked = schema.zod.safeParse(value);
  if (checked.success) return [];
  const { issues } = checked.error;
  const misspelt = new Set(issues.flatMap((issue) => meantKeys(schema.node, issue)));
  return issues
    .filter((issue) => !misspelt.has(JSON.stringify(issue.path)) || valueAt(value, partsOf(issue)) !== undefined)
    .flatMap((issue) => describeIssue(schema.node, value, issue, locate));
}

type Issue = z.core.$ZodIssue;

const partsOf = (issue: Issue): PathPart[] => issue.path.filter((part) => typeof part !== "symbol");

/** The paths that misspelt keys were meant for: a value missing there is not told as well. */
function meantKeys(root: SchemaNode, issue: Issue): string[] {
  if (issue.code !== "unrecognized_keys") return [];
  const names = Object.keys(nodeAt(root, partsOf(issue))?.properties ?? {});
  return issue.keys.map((key) => JSON.stringify([...issue.path, nearestName(key, names)]));
}

function describeIssue(root: SchemaNode, value: unknown, issue: Issue, locate: Locate): ConfigProblem[] {
  const path = partsOf(issue);
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => unknownKey(root, path, key, locate));
  if (issue.code === "invalid_key") return [{ ...locate(path, "key"), message: describeBadName(root, path, issue) }];
  const node = nodeAt(root, path) ?? {};
  const found = valueAt(value, path);
  const suggestion = suggestValue(found, node, String(path.at(-1)));
  const message = `found ${describeFound(found)}, expected ${expectedAt(node)}`;
  return [{ ...locate(path), message, ...(suggestion === undefined ? {} : { suggestion }) }];
}

/** An address is described as such, because its length is hardly ever what is wrong. */
const expectedAt = (node: SchemaNode): string =>
  node.format === "uri" ? `an http or https address, ${describeExpected(node)}` : describeExpected(node);

function unknownKey(root: SchemaNode, path: readonly PathPart[], key: string, locate: Locate): ConfigProblem {
  const group = nodeAt(root, path) ?? {};
  const suggestion =
    nearestName(key, Object.keys(group.properties ?? {})) ?? elsewhere(group, key) ?? elsewhere(root, key);
  return {
    ...locate([...path, key], "key"),
    message: "unknown key",
    ...(suggestion === undefined ? {} : { suggestion }),
  };
}

/** The path of a key that exists further down: `heartbeat` at the top is meant to be `health_monitoring.heartbeat`. */
function elsewhere(node: SchemaNode, key: string): string | undefined {
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    if (name === key) return name;
    const below = elsewhere(child, key);
    if (below !== undefined) return `${name}.${below}`;
  }
  return undefined;
}

function describeBadName(root: SchemaNode, path: readonly PathPart[], issue: Issue & { code: "invalid_key" }): string {
  const names = nodeAt(root, path.slice(0, -1))?.propertyNames;
  // The schema of an id has a message of its own; other names are limited only in length.
  const rule = names?.pattern === undefined ? `must be ${describeExpected(names ?? {})}` : issue.issues[0]?.message;
  return `not a name that can be used: ${rule}`;
}

const unitMs = { seconds: 1000, minutes: 60_000, hours: 3_600_000, days: 86_400_000 } as const;

/** People write `5m` for 300 and `yes` for true; neither is taken silently, but the right value is suggested. */
function suggestValue(found: unknown, node: SchemaNode, key: string): string | undefined {
  if (typeof found !== "string") return undefined;
  if (node.enum) return nearestName(found, node.enum);
  if (node.type === "boolean") {
    if (/^(yes|on|true|1)$/i.test(found)) return "true";
    return /^(no|off|false|0)$/i.test(found) ? "false" : undefined;
  }
  const unit = /_(seconds|minutes|hours|days)$/.exec(key)?.[1] as keyof typeof unitMs | undefined;
  const duration = unit === undefined ? null : parseDuration(found);
  if (unit === undefined || duration === null) return undefined;
  // A bare number in quotes is already in the setting's own unit.
  return /^[\d.]+$/.test(found.trim()) ? cut(found.trim()) : String(duration / unitMs[unit]);
}
