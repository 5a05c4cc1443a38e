import { agentFamilies, settingsOf } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { configSchema } from "./config-document.ts";
import { isGroup, nodeAt } from "./schema-node.ts";

const schema = configSchema();

function groupsIn(value: unknown): Record<string, unknown>[] {
  if (!isGroup(value)) return [];
  return [value, ...Object.values(value).flatMap(groupsIn)];
}

describe("the schema for editors", () => {
  it("names the top-level keys and holds the settings once", () => {
    expect(Object.keys(schema.properties ?? {}).toSorted()).toEqual([
      "agent_types",
      "agents",
      "families",
      "health_monitoring",
      "models",
      "policies",
      "preset",
      "tasks",
    ]);
    expect(JSON.stringify(schema).split('"interval_seconds"').length - 1).toBe(3);
    expect(groupsIn(schema).filter((group) => group.$ref !== undefined)).toHaveLength(7);
    expect(JSON.stringify(schema).split("$schema").length - 1).toBe(1);
  });

  it("knows every setting of the presets, with a description, and requires none", () => {
    expect(Object.keys(schema.$defs.settings.properties ?? {})).toEqual(Object.keys(settingsOf("default")));
    expect(nodeAt(schema.$defs.settings, ["heartbeat", "interval_seconds"])?.description).toBe(
      "how often a working agent beats",
    );
    const needy = groupsIn(schema).filter((group) => group.required !== undefined);
    expect(needy).toEqual([nodeAt(schema.$defs.settings, ["terminal", "patterns", 0])]);
  });

  it("says what a pattern consists of, and refers to nothing that is not in it", () => {
    const pattern = nodeAt(schema.$defs.settings, ["terminal", "patterns", 0]);
    expect(pattern?.required).toEqual(["kind", "pattern"]);
    expect(pattern?.properties?.family).toMatchObject({ enum: agentFamilies, description: expect.any(String) });
    expect(new Set(groupsIn(schema).flatMap((group) => group.$ref ?? []))).toEqual(new Set(["#/$defs/settings"]));
  });

  it("refuses unknown keys in every group that has known ones", () => {
    const open = groupsIn(schema).filter((group) => isGroup(group.properties) && group.type === "object");
    expect(open.length).toBeGreaterThan(10);
    expect(open.every((group) => group.additionalProperties === false)).toBe(true);
  });
});
