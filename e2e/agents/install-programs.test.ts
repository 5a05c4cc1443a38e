import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { cleanUp, makeFolder } from "../clean-up.ts";
import { installPrograms } from "./install-programs.ts";
import { fileOf, folderOf, pinned } from "./programs.ts";

afterEach(cleanUp);

const { version, package: name } = pinned.opencode;

/** A cache in which npm has put the pinned version, whose program says this. */
function makeCache(program: string): string {
  const cache = makeFolder();
  const file = fileOf(cache, "opencode");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(join(folderOf(cache, "opencode"), "node_modules", name, "package.json"), JSON.stringify({ version }));
  writeFileSync(file, program);
  chmodSync(file, 0o755);
  return cache;
}

it("takes a program that is in the cache already, without asking npm", () => {
  const cache = makeCache(`#!/bin/sh\necho "opencode ${version}"\n`);
  expect(installPrograms(cache, ["opencode"])).toEqual([{ name: "opencode", there: true, version }]);
});

it("does not play a version that nobody pinned", () => {
  const cache = makeCache("#!/bin/sh\necho 9.9.9\n");
  const because = `it says it is 9.9.9, and ${version} is wanted`;
  expect(installPrograms(cache, ["opencode"])).toEqual([{ name: "opencode", there: false, because }]);
});

it("says of a program that does not start that it does not", () => {
  const cache = makeCache("#!/bin/sh\nexit 3\n");
  expect(installPrograms(cache, ["opencode"])).toMatchObject([
    { there: false, because: expect.stringContaining("does not start") },
  ]);
});
