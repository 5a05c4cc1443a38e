import { readFileSync, writeFileSync } from "node:fs";
import { presetNames, presets, settingsOf, settingsWithoutEffect } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { settingsSchema } from "./config-document.ts";
import { readConfig, requireConfig } from "./read-config.ts";
import { describeExpected, isGroup, type SchemaNode, valueAt } from "./schema-node.ts";

const guide = new URL("../../../../docs/configuration.md", import.meta.url);

/** One setting with a value of its own. In a path `<name>` stands for whatever the user calls it, `<each>` for each entry of a list. */
interface SettingEntry {
  readonly path: readonly string[];
  readonly node: SchemaNode;
}

function listSettings(node: SchemaNode, path: readonly string[] = []): SettingEntry[] {
  if (node.properties) {
    return Object.entries(node.properties).flatMap(([key, child]) => listSettings(child, [...path, key]));
  }
  if (typeof node.additionalProperties === "object")
    return listSettings(node.additionalProperties, [...path, "<name>"]);
  const parts = node.items?.properties ? listSettings(node.items, [...path, "<each>"]) : [];
  return [{ path, node }, ...parts];
}

/** Every setting in one Markdown table, for docs/configuration.md. */
function settingsTable(): string {
  const defaults = settingsOf("default");
  const rows = listSettings(settingsSchema.node).map(({ path, node }) => {
    const name = path.join(".");
    const idle = settingsWithoutEffect.some((setting) => name === setting || name.startsWith(`${setting}.`));
    const meaning = [node.description ?? "", ...(idle ? ["*no effect yet*"] : [])].join("; ");
    return [`\`${name}\``, shown(valueAt(defaults, path)), describeExpected(node), meaning];
  });
  return table(["setting", "default", "takes", "meaning"], rows);
}

/** What the presets change, side by side. */
function presetsTable(): string {
  const named = new Set(presetNames.flatMap((name) => leaves(presets[name]).map((path) => path.join("."))));
  const rows = [...named]
    .map((name) => [`\`${name}\``, ...presetNames.map((preset) => shown(valueAt(settingsOf(preset), name.split("."))))])
    .filter(([, ...values]) => new Set(values).size > 1);
  return table(["setting", ...presetNames.map((name) => `\`${name}\``)], rows);
}

function leaves(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (!isGroup(value)) return [path];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key]));
}

const shown = (value: unknown): string => (value === undefined ? "not set" : `\`${JSON.stringify(value)}\``);

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

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
