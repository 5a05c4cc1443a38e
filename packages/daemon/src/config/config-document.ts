import { AgentId, agentFamilies, Id, type PartialSettings, presetNames, Settings } from "@rouse/contract";
import { z } from "zod";
import { inlineDefinitions } from "./inline-definitions.ts";
import type { SchemaNode } from "./schema-node.ts";

/** The same schema with every setting optional at every depth: what a person may write of it. */
function partialOf(schema: z.ZodObject): z.ZodObject {
  const shape: Record<string, z.ZodType> = {};
  for (const [key, value] of Object.entries(schema.shape)) {
    const inner: unknown = value;
    shape[key] = inner instanceof z.ZodObject ? partialOf(inner).optional() : z.optional(value);
  }
  return z.strictObject(shape);
}

/** A schema to check with, and the same as plain data to take wording, key names and tables from. */
export interface CheckedSchema {
  readonly zod: z.ZodType;
  readonly node: SchemaNode;
}

/** Most who read a configuration find nothing to complain about, and need no words for it. */
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

export interface ConfigDocument {
  readonly preset?: string;
  readonly health_monitoring?: PartialSettings;
  readonly policies?: Readonly<Record<string, PartialSettings>>;
  readonly families?: Readonly<Record<string, PartialSettings>>;
  readonly models?: Readonly<Record<string, PartialSettings>>;
  readonly agent_types?: Readonly<Record<string, PartialSettings>>;
  readonly tasks?: Readonly<Record<string, PartialSettings>>;
  readonly agents?: Readonly<Record<string, PartialSettings>>;
}

/** What `.botbox.json` may say under `agents.health`. */
export const botboxSchema = withNode(
  partialOf(z.strictObject({ enabled: Settings.shape.enabled, ...Settings.shape.terminal.shape })),
);
