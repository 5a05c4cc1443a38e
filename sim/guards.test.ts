import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { guards } from "./guards.ts";

const repository = join(import.meta.dirname, "..");

it.each(guards)("the guard stands where the list says: $name", ({ file, find, replace }) => {
  const source = readFileSync(join(repository, file), "utf8");
  expect(source.split(find)).toHaveLength(2);
  expect(replace).not.toBe(find);
});

it("the table in docs/simulation.md has a row for each guard, in the order of the list", () => {
  const page = readFileSync(join(repository, "docs/simulation.md"), "utf8");
  const table = page.slice(page.indexOf("| nothing |")).split("\n\n")[0] ?? "";
  const rows = table.split("\n").map((row) => row.split("|")[1]?.trim());
  expect(rows).toEqual(["nothing", ...guards.map(({ name }) => name)]);
});

it("no guard is listed twice", () => {
  expect(new Set(guards.map(({ name }) => name)).size).toBe(guards.length);
});
