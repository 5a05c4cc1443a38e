import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { cleanUp, makeFolder } from "./clean-up.ts";
import { endAgentsAfterwards, processesOf } from "./end-agents.ts";
import { openTerminal } from "./open-terminal.ts";
import { program, runRouse, startProgram } from "./run-rouse.ts";

afterEach(cleanUp);

const demoFolders = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith("rouse-demo-"));

it("the demo shows agents that work, one whose breaker opens and closes, one nudged back, one stopped and resumed, one that crashed, and cleans up", async () => {
  const before = demoFolders();
  const home = join(makeFolder(), "home");
  const { code, stdout, stderr } = await runRouse(["demo"], { home });
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(
    /bob +breaker of external_api\/model CLOSED → OPEN(?:.|\n)*bob +.* OPEN → HALF_OPEN(?:.|\n)*bob +.* HALF_OPEN → CLOSED/,
  );
  expect(stdout).not.toMatch(/bob +stopped/);
  expect(stdout).toMatch(/lou +nudged: FACT: The same call/);
  expect(stdout).toMatch(/lou +took the hint/);
  expect(stdout).toMatch(/hank +stopped, all its processes: 3 expected beats missed, and its owner's rule/);
  expect(stdout).toMatch(/hank +back: incarnation 2 goes on after step 3/);
  expect(stdout).toMatch(/cora +ended with status 139/);
  expect(stdout).toMatch(/cora +back: incarnation 2 goes on after step 2/);
  expect(stdout).toMatch(/All five finished: 1 nudge, 1 stopped, 2 brought back/);
  // Its own data folder is gone by now: nothing there can be asked.
  expect(stdout).not.toContain("rouse audit list");
  expect(demoFolders()).toEqual(before);
});

it("Ctrl-C ends the demo with every agent and process it started, also when it is pressed twice", async () => {
  const before = demoFolders();
  const home = join(makeFolder(), "home");
  endAgentsAfterwards(home);
  const terminal = openTerminal(process.execPath, [program, "demo"], { home });
  await terminal.shows("bob");
  await terminal.shows("starts, process");
  terminal.type("\x03");
  await terminal.shows("Ending what was started.");
  terminal.type("\x03");
  expect(await terminal.ended).toMatchObject({ code: 130 });
  expect(processesOf(home)).toEqual([]);
  expect(demoFolders()).toEqual(before);
});

it("a demo that nobody reads any more ends with everything it started", async () => {
  const before = demoFolders();
  const home = join(makeFolder(), "home");
  endAgentsAfterwards(home);
  const line = `"${process.execPath}" "${program}" demo | head -n 6`;
  const { stdout } = await startProgram("sh", ["-c", line], { home }).ended;
  expect(stdout).toMatch(/starts, process/);
  expect(processesOf(home)).toEqual([]);
  expect(demoFolders()).toEqual(before);
});
