import { readFileSync, writeFileSync } from "node:fs";
import { settingsOf } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { settingsSchema } from "./config-document.ts";
import { readConfig, requireConfig } from "./read-config.ts";
import { isGroup, listSettings } from "./schema-node.ts";
import { presetsTable, settingsTable } from "./settings-table.ts";

const guide = new URL("../../../../docs/configuration.md", import.meta.url);

/** Puts a table where the guide's comments say it belongs. */
function withTable(text: string, name: string, table: string): string {
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`docs/configuration.md has lost its comments ${begin} and ${end}`);
  return `${text.slice(0, from + begin.length)}\n\n${table}\n\n${text.slice(to)}`;
}

function leavesOf(value: unknown): number {
  return isGroup(value) ? Object.values(value).reduce<number>((sum, inner) => sum + leavesOf(inner), 0) : 1;
}

describe("docs/configuration.md", () => {
  it("has tables that say what the code says (ROUSE_WRITE_DOCS=1 rewrites them)", () => {
    const text = readFileSync(guide, "utf8");
    const upToDate = withTable(withTable(text, "presets", presetsTable()), "settings", settingsTable());
    if (process.env.ROUSE_WRITE_DOCS === "1") writeFileSync(guide, upToDate);
    else expect(text).toBe(upToDate);
  });

  it("shows only YAML that works", () => {
    const examples = [...readFileSync(guide, "utf8").matchAll(/```yaml\n(.*?)```/gs)].map(([, text]) => text ?? "");
    expect(examples.length).toBeGreaterThan(2);
    for (const text of examples) requireConfig(readConfig({ file: { name: "example.yaml", text } }));
  });
});

describe("the table of settings", () => {
  it("describes each one and leaves none out", () => {
    const entries = listSettings(settingsSchema.node);
    expect(entries.filter(({ node }) => !node.description).map(({ path }) => path.join("."))).toEqual([]);
    const { alerting: _, circuit_breaker: breakers, ...plain } = settingsOf("default");
    const rows = entries.filter(({ path }) => !path.includes("<name>") && !path.includes("<each>"));
    // Three settings are worked out until someone sets them, and three name something that not everybody has.
    expect(rows).toHaveLength(leavesOf(plain) + leavesOf(breakers.default) + 6);
  });
});
