import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { cleanUp, makeFolder } from "./clean-up.ts";
import { runRouse } from "./run-rouse.ts";

afterEach(cleanUp);

const demoFolders = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith("rouse-demo-"));

it("the demo shows agents that work, one nudged back, one stopped and resumed, one that crashed, and cleans up", async () => {
  const before = demoFolders();
  const home = join(makeFolder(), "home");
  const { code, stdout, stderr } = await runRouse(["demo"], { home });
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/lou +nudged: FACT: The same call/);
  expect(stdout).toMatch(/lou +took the hint/);
  expect(stdout).toMatch(/hank +stopped, all its processes/);
  expect(stdout).toMatch(/hank +back: incarnation 2 goes on after step 3/);
  expect(stdout).toMatch(/cora +ended with status 139/);
  expect(stdout).toMatch(/cora +back: incarnation 2 goes on after step 2/);
  expect(stdout).toMatch(/All five finished/);
  expect(demoFolders()).toEqual(before);
});
