import { presetNames, presets, settingsOf, settingsWithoutEffect } from "@rouse/contract";
import { settingsSchema } from "./config-document.ts";
import { describeExpected, isGroup, listSettings, valueAt } from "./schema-node.ts";

/** Every setting in one Markdown table, for docs/configuration.md. */
export function settingsTable(): string {
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
export function presetsTable(): string {
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
