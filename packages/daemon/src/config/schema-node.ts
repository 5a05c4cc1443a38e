import type { PathPart } from "./config-problem.ts";

/** The part of JSON Schema that our schemas use. */
export interface SchemaNode {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: SchemaNode | boolean;
  readonly propertyNames?: SchemaNode;
  readonly required?: readonly string[];
  readonly items?: SchemaNode;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
}

export function childNode(node: SchemaNode, part: PathPart): SchemaNode | undefined {
  if (typeof part === "number") return node.items;
  if (node.properties && Object.hasOwn(node.properties, part)) return node.properties[part];
  return typeof node.additionalProperties === "object" ? node.additionalProperties : undefined;
}

export function nodeAt(node: SchemaNode, path: readonly PathPart[]): SchemaNode | undefined {
  let current: SchemaNode | undefined = node;
  for (const part of path) current = current && childNode(current, part);
  return current;
}

/** What a person should have written: "a number above 0, at most 2592000". */
export function describeExpected(node: SchemaNode): string {
  if (node.enum) return listed(node.enum);
  switch (node.type) {
    case "number":
      return `a number ${describeRange(node)}`;
    case "integer":
      return `a whole number ${describeRange(node)}`;
    case "boolean":
      return "true or false";
    case "string":
      return `text${describeSize(node.minLength, node.maxLength)}${node.maxLength === undefined ? "" : " characters"}`;
    case "array":
      return `a list${describeSize(node.minItems, node.maxItems)}${node.items ? `, each ${describeExpected(node.items)}` : ""}`;
    default:
      return "a group of settings";
  }
}

function describeRange(node: SchemaNode): string {
  const from = node.exclusiveMinimum === undefined ? `from ${node.minimum ?? "any"}` : `above ${node.exclusiveMinimum}`;
  const to = node.exclusiveMinimum === undefined ? ` to ${node.maximum}` : `, at most ${node.maximum}`;
  return node.maximum === undefined ? from : `${from}${to}`;
}

function describeSize(from: number | undefined, to: number | undefined): string {
  if (to === undefined) return "";
  return from === undefined ? ` of at most ${to}` : ` of ${from} to ${to}`;
}

function listed(names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  return names.length < 2 ? last : `${names.slice(0, -1).join(", ")} or ${last}`;
}

/** An empty section, such as `heartbeat:` with everything under it commented out, changes nothing. */
export function fillEmptySections(value: unknown, node: SchemaNode | undefined): unknown {
  if (node?.type !== "object") return value;
  if (value === null) return {};
  if (!isGroup(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, fillEmptySections(inner, childNode(node, key))]),
  );
}

export const isGroup = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function valueAt(value: unknown, path: readonly PathPart[]): unknown {
  let current = value;
  for (const part of path) {
    if (Array.isArray(current)) current = current[Number(part)];
    else current = isGroup(current) && Object.hasOwn(current, part) ? current[part] : undefined;
  }
  return current;
}
