import { isGroup, type SchemaNode } from "./schema-node.ts";

/**
 * Schemas that have a name of their own come out of zod as references. Wording, suggestions and tables want to look inside, so each
 * reference is replaced by what it stands for; what is said beside it (its description there) wins. Ours never refer in circles.
 */
export function inlineDefinitions(schema: object): SchemaNode {
  const { $defs, ...root } = schema as Readonly<Record<string, unknown>>;
  const definitions = isGroup($defs) ? $defs : {};
  return inline(root, definitions) as SchemaNode;
}

const prefix = "#/$defs/";

function inline(value: unknown, definitions: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(value)) return value.map((item) => inline(item, definitions));
  if (!isGroup(value)) return value;
  const { $ref, ...beside } = value;
  const here = Object.fromEntries(Object.entries(beside).map(([key, inner]) => [key, inline(inner, definitions)]));
  if (typeof $ref !== "string" || !$ref.startsWith(prefix)) return here;
  return { ...(inline(definitions[$ref.slice(prefix.length)], definitions) as object), ...here };
}
