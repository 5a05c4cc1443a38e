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

it("no guard is listed twice", () => {
  expect(new Set(guards.map(({ name }) => name)).size).toBe(guards.length);
});
