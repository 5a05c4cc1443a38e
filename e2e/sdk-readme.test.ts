import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, expect, it } from "vitest";
import { cleanUp } from "./clean-up.ts";
import { run } from "./published-packages.ts";
import { repository, startProgram } from "./run-rouse.ts";
import { startDaemon } from "./start-daemon.ts";

beforeAll(async () => {
  await run(process.execPath, ["--input-type=module", "--eval", buildAll]);
});
afterEach(cleanUp);

const buildAll = 'import { ensureBuilt } from "./scripts/ensure-built.mjs"; await ensureBuilt();';

const exampleIn = (file: string, language: string): string => {
  const blocks = readFileSync(join(repository, file), "utf8").matchAll(
    new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"),
  );
  return (
    [...blocks].map(([, text]) => text ?? "").find((text) => text.includes("rouse.agent(")) ??
    expect.fail(`${file} has none`)
  );
};

it("the ten lines of the README run as they stand, and do nothing twice when they are run again", async () => {
  const daemon = await startDaemon();
  const example = exampleIn("README.md", "js");
  expect(example.trim().split("\n").length).toBeLessThanOrEqual(10);
  expect(exampleIn("packages/sdk/README.md", "javascript")).toBe(example);
  const words = ["-c", 'cd "$0" && exec "$1" --input-type=module --eval "$2"', repository, process.execPath, example];
  const type = () => startProgram("sh", words, { home: daemon.home }).ended;
  expect(await type()).toMatchObject({ code: 0, stdout: "On bees: bees can dance.\n", stderr: "" });
  expect(await daemon.rouse.getAgentHealth("writer")).toMatchObject({ taskId: "essay-7", over: { how: "finished" } });
  const heads = await daemon.rouse.checkpoints("essay-7");
  expect(heads.map(({ stepName }) => stepName)).toEqual(["write", "look", ""]);
  const { steps } = await daemon.rouse.steps("writer");
  expect(steps.map(({ kind, tool }) => [kind, tool])).toEqual([
    ["tool_call", "look-up"],
    ["tool_result", "look-up"],
  ]);
  expect(await type()).toMatchObject({ code: 0, stdout: "On bees: bees can dance.\n", stderr: "" });
  expect((await daemon.rouse.steps("writer")).steps).toHaveLength(2);
});

it("both entries of the SDK have the same classes, so that what one throws is known to the other", async () => {
  const program =
    'const [a, b] = [await import("@rouse/sdk"), await import("@rouse/sdk/agent")]; console.log(a.BreakerOpenError === b.BreakerOpenError, a.rouse === b.rouse)';
  expect((await run(process.execPath, ["--input-type=module", "--eval", program])).stdout).toBe("true true\n");
});
