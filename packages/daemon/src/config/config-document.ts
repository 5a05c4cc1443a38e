import { AgentId, agentFamilies, Id, type PartialSettings, presetNames, Settings } from "@rouse/contract";
import { z } from "zod";
import { isGroup, type SchemaNode } from "./schema-node.ts";

/** The same schema with every setting optional at every depth: what a person may write. */
function partialOf(schema: z.ZodObject): z.ZodObject {
  const shape: Record<string, z.ZodType> = {};
  for (const [key, value] of Object.entries(schema.shape)) {
    const inner: unknown = value;
    shape[key] = inner instanceof z.ZodObject ? partialOf(inner).optional() : z.optional(value);
  }
  return z.strictObject(shape);
}

/** A schema to check with, and the same as plain data for wording, key names and tables. */
export interface CheckedSchema {
  readonly zod: z.ZodType;
  readonly node: SchemaNode;
}

/** `node` is made on first use: a configuration without problems needs no wording. */
function withNode(zod: z.ZodType): CheckedSchema {
  let node: SchemaNode | undefined;
  return {
    zod,
    get node() {
      node ??= inlineDefinitions(z.toJSONSchema(zod));
      return node;
    },
  };
}

const partialSettings = partialOf(Settings);

/** Everything that may stand under `health_monitoring:` or in one override. */
export const settingsSchema = withNode(partialSettings);

const overridesBy = (id: z.ZodString | typeof AgentId, what: string) =>
  z.record(id, partialSettings).describe(what).optional();

const FamilyName = Id.refine(
  (name) => (agentFamilies as readonly string[]).includes(name),
  `must be ${agentFamilies.join(", ")}`,
);

/** The whole of config.yaml. */
export const documentSchema = withNode(
  z.strictObject({
    preset: z.enum(presetNames).describe("what everything not named here is taken from").optional(),
    health_monitoring: partialSettings.optional(),
    policies: overridesBy(Id, "settings for agents started with --policy NAME"),
    families: overridesBy(
      FamilyName,
      "settings that differ for one agent program (claude-code, codex, …) that Rouse started",
    ),
    models: overridesBy(Id, "settings that differ for one model, where the agent's stream names it"),
    agent_types: overridesBy(Id, "settings that differ for one type of agent"),
    tasks: overridesBy(Id, "settings that differ for whoever works on one task"),
    agents: overridesBy(AgentId, "settings that differ for one agent; wins over its task and its type"),
  }),
);

export const overrideGroups = ["policies", "families", "models", "agent_types", "tasks", "agents"] as const;

export interface ConfigDocument
  extends Readonly<Partial<Record<(typeof overrideGroups)[number], Readonly<Record<string, PartialSettings>>>>> {
  readonly preset?: string;
  readonly health_monitoring?: PartialSettings;
}

/** What `.botbox.json` may say under `agents.health`. */
export const botboxSchema = withNode(
  partialOf(z.strictObject({ enabled: Settings.shape.enabled, ...Settings.shape.terminal.shape })),
);

/**
 * Replaces each reference by what it stands for: zod writes schemas that have a name as references, and wording,
 * suggestions and tables look inside. What stands beside a reference, such as its description there, wins. No schema of
 * ours refers to itself.
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

interface ConfigSchema extends SchemaNode {
  readonly title: string;
  readonly $defs: { readonly settings: SchemaNode };
}

/** The JSON Schema of config.yaml, for editors. Settings stand in it once, though a file has seven places for them. */
export function configSchema(): ConfigSchema {
  const settings: SchemaNode & { readonly $ref: string } = { $ref: "#/$defs/settings" };
  const { properties: { health_monitoring = {}, preset = {}, ...groups } = {}, ...rest } = documentSchema.node;
  const overrides = Object.entries(groups).map(([name, group]) => [name, { ...group, additionalProperties: settings }]);
  return {
    ...rest,
    title: "Rouse configuration",
    properties: { preset, ...Object.fromEntries(overrides), health_monitoring: settings },
    $defs: { settings: health_monitoring },
  };
}
