import { printable, settingsWithoutEffect } from "@rouse/contract";
import { Document, isMap, isScalar, isSeq, type YAMLMap } from "yaml";
import { documentSchema, overrideGroups } from "./config-document.ts";
import type { Config } from "./read-config.ts";
import { childNode, type SchemaNode } from "./schema-node.ts";

/** The effective configuration as a file that `readConfig` reads back to the same result. */
export function printConfig(config: Config): string {
  const overrides = { ...config.overrides, agent_types: config.overrides.agentTypes };
  const given = overrideGroups.filter((group) => Object.keys(overrides[group]).length > 0);
  const document = new Document(
    {
      preset: config.preset,
      health_monitoring: config.settings,
      ...Object.fromEntries(given.map((group) => [group, overrides[group]])),
    },
    { aliasDuplicateObjects: false },
  );
  document.commentBefore = ` What Rouse goes by, from: ${config.sources.map((source) => printable(source)).join("; ")}`;
  const root = document.contents;
  if (isMap(root)) {
    explain(root, "preset", documentSchema.node.properties?.preset);
    for (const pair of root.items) {
      if (!isScalar(pair.key) || !isMap(pair.value)) continue;
      pair.key.spaceBefore = true;
      if (pair.key.value === "health_monitoring") explainSettings(pair.value, settingsNode, []);
    }
  }
  return document.toString({ lineWidth: 0 });
}

const settingsNode = documentSchema.node.properties?.health_monitoring ?? {};

function explainSettings(map: YAMLMap, node: SchemaNode, path: readonly string[]): void {
  for (const pair of map.items) {
    if (!isScalar(pair.key)) continue;
    const key = String(pair.key.value);
    const here = [...path, key];
    const child = childNode(node, key);
    if (child) explain(map, key, child, here);
    if (child && isMap(pair.value)) explainSettings(pair.value, child, here);
  }
  const unset = Object.entries(node.properties ?? {}).filter(([key]) => !map.has(key));
  // In the entry of one breaker or route, unset values come from its default, which has been printed already.
  if (unset.length === 0 || path.length !== 1) return;
  map.comment = unset.map(([key, child]) => ` ${key} is not set: ${child.description ?? ""}`).join("\n");
}

/** A value is explained behind it, a list or a section above it. */
function explain(map: YAMLMap, key: string, node: SchemaNode | undefined, path: readonly string[] = []): void {
  const idle = settingsWithoutEffect.includes(path.join(".")) ? "no effect yet in this version" : undefined;
  const words = [node?.description, idle].filter((word) => word !== undefined).join("; ");
  const pair = map.items.find((item) => isScalar(item.key) && item.key.value === key);
  if (words === "" || !pair) return;
  if (isSeq(pair.value)) pair.value.flow = pair.value.items.every((item) => isScalar(item));
  if (isScalar(pair.value)) pair.value.comment = ` ${words}`;
  else if (isScalar(pair.key)) pair.key.commentBefore = ` ${words}`;
}
