import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { agentOnce } from "./agent-once.ts";
import { cleanUp, makeFolder } from "./clean-up.ts";
import { outputOf, spawnAgent } from "./held-agents.ts";
import { eventsOf, fastPolicy } from "./ladder-agents.ts";
import { repository, startProgram } from "./run-rouse.ts";
import { startDaemon } from "./start-daemon.ts";

afterEach(cleanUp);

const there = spawnSync("curl", ["--version"]).status === 0;
if (!there)
  console.error("e2e: curl IS NOT ON THIS MACHINE: docs/any-language.md and examples/careful.sh are SKIPPED.");
const tries = it.skipIf(!there);

interface Block {
  readonly typed: string;
  /** What the page says will be answered; of a block without any, nothing is printed. */
  readonly answer: string | undefined;
}

const blocksOf = (page: string): Block[] =>
  [...page.matchAll(/^```sh\n([\s\S]*?)^```\n(?:```json\n([\s\S]*?)^```)?/gm)].map(([, typed = "", answer]) => ({
    typed,
    answer: answer?.trim(),
  }));

/** What differs from run to run: dates and hashes. */
const anyTime = (text: string): string =>
  text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "(a date)").replaceAll(/\b[0-9a-f]{64}\b/g, "(a hash)");

tries("every command of docs/any-language.md, typed one after the other, is answered as the page says", async () => {
  const daemon = await startDaemon();
  const blocks = blocksOf(readFileSync(join(repository, "docs", "any-language.md"), "utf8"));
  expect(blocks.length).toBeGreaterThan(8);
  const script = blocks.map(({ typed }) => `${typed}\necho; echo ----`).join("\n");
  const { code, stdout, stderr } = await startProgram("sh", ["-euc", script], {
    home: daemon.home,
    environment: { ROUSE_URL: daemon.url },
  }).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const printed = stdout.split("\n----\n").slice(0, -1);
  expect(printed.map((text) => anyTime(text.trim()))).toEqual(blocks.map(({ answer = "" }) => anyTime(answer)));
  expect(await daemon.rouse.getAgentHealth("worker-1")).toMatchObject({ activity: { kind: "FINISHED" } });
  const told = (await eventsOf(daemon, "worker-1")).map(({ type }) => type);
  expect(told).toEqual(expect.arrayContaining(["CIRCUIT_BREAKER_STATE_CHANGED", "AGENT_ANSWERED"]));
});

tries(
  "examples/careful.sh does each item once, though it is killed, and its command fails until the breaker's trial",
  async () => {
    const daemon = await startDaemon({ config: fastPolicy });
    const folder = makeFolder();
    const command = join(folder, "do-one");
    // `b` fails until the breaker has opened once; `c` kills its worker the first time.
    writeFileSync(
      command,
      `#!/bin/sh
cd '${folder}'
echo x >> "tries-$1"
if [ "$1" = b ] && [ "$(wc -l < tries-b)" -le 3 ]; then exit 1; fi
if [ "$1" = c ] && [ "$(wc -l < tries-c)" -le 1 ]; then kill -9 $PPID; exit 1; fi
echo "$1" >> done
`,
      { mode: 0o755 },
    );
    const careful = join(repository, "examples", "careful.sh");
    const options = ["--task", "all", "--restart", "on-failure", "--env", "BREAKER_SECONDS=1"];
    await spawnAgent(daemon.home, "careful", ["sh", careful, command, "a", "b", "c", "d"], options);
    await agentOnce(daemon, "careful", "finishes", ({ over }) => over !== null && existsSync(join(folder, "tries-d")));
    expect(readFileSync(join(folder, "done"), "utf8")).toBe("a\nb\nc\nd\n");
    const saved = await daemon.rouse.checkpoints("all");
    expect(saved.map(({ step, stepName }) => `${step} ${stepName}`)).toEqual(["4 d", "3 c", "2 b", "1 a"]);
    const { text } = outputOf(daemon.home, "careful");
    expect(text.match(/(?<=the breaker is )\w+/g)).toEqual(["OPEN", "HALF_OPEN", "CLOSED"]);
    const changes = (await daemon.events("CIRCUIT_BREAKER_STATE_CHANGED")).map(({ payload }) => payload);
    expect(changes).toMatchObject([
      { name: "careful/tool_execution/do-one", from: "CLOSED", to: "OPEN" },
      { from: "OPEN", to: "HALF_OPEN" },
      { from: "HALF_OPEN", to: "CLOSED" },
    ]);
    expect(await daemon.events("RECOVERY_COMPLETED")).toMatchObject([{ payload: { step: 2 } }]);
  },
);
