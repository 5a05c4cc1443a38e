import { documentSchema } from "./config-document.ts";
import type { SchemaNode } from "./schema-node.ts";

export interface ConfigSchema extends SchemaNode {
  readonly title: string;
  readonly $defs: { readonly settings: SchemaNode };
}

interface Reference extends SchemaNode {
  readonly $ref: string;
}

const settings: Reference = { $ref: "#/$defs/settings" };

/** The JSON Schema of config.yaml, for editors. The settings stand in it once, though a file may hold them in five places. */
export function configSchema(): ConfigSchema {
  const { properties = {}, ...rest } = documentSchema.node;
  const { health_monitoring: complete = {}, ...others } = properties;
  const overridesOf = (group: string): SchemaNode => ({ ...others[group], additionalProperties: settings });
  return {
    ...rest,
    title: "Rouse configuration",
    properties: {
      ...others,
      health_monitoring: settings,
      policies: overridesOf("policies"),
      families: overridesOf("families"),
      models: overridesOf("models"),
      agent_types: overridesOf("agent_types"),
      tasks: overridesOf("tasks"),
      agents: overridesOf("agents"),
    },
    $defs: { settings: complete },
  };
}
