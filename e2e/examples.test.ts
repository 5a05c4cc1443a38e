import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { cleanUp, makeFolder } from "./clean-up.ts";
import { type Running, repository, startProgram } from "./run-rouse.ts";
import { type Daemon, quickBeats, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

afterEach(cleanUp);

const examples = [
  { agentId: "example-js", program: process.execPath, file: "worker.mjs", needs: process.execPath },
  { agentId: "example-py", program: "python3", file: "worker.py", needs: "python3" },
  { agentId: "example-sh", program: "sh", file: "worker.sh", needs: "curl" },
];
type Example = (typeof examples)[number];

const isThere = (program: string): boolean => spawnSync(program, ["--version"]).status === 0;

const start = ({ program, file }: Example, home: string, environment = {}): Running =>
  startProgram(program, [join(repository, "examples", file)], { home, environment });

async function expectCountedToFive(daemon: Daemon, { agentId }: Example): Promise<void> {
  expect(await daemon.rouse.getAgentHealth(agentId)).toMatchObject({
    state: "HEALTHY",
    taskId: "count-to-five",
    activity: { kind: "FINISHED" },
    metrics: { toolCallCount: 5 },
  });
  expect((await daemon.rouse.why(agentId)).beats).toMatchObject({ accepted: 6, lost: 0, stale: 0, refused: 0 });
}

describe.each(examples)("examples/$file", (example) => {
  const there = isThere(example.needs);
  if (!there) console.error(`e2e: ${example.needs} IS NOT ON THIS MACHINE: examples/${example.file} is SKIPPED.`);

  it.skipIf(!there)("finds the daemon on its machine, beats, and finishes", async () => {
    const daemon = await startDaemon();
    const { code, stdout, stderr } = await start(example, daemon.home).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toBe([1, 2, 3, 4, 5].map((step) => `beat ${step}: accepted\n`).join(""));
    await expectCountedToFive(daemon, example);
  });

  it.skipIf(!there)("run a second time is a new life, and has finished again: nobody is called", async () => {
    const daemon = await startDaemon({ config: quickBeats });
    for (const life of [1, 2]) {
      const { code, stdout } = await start(example, daemon.home).ended;
      expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("beat 5: accepted\n") });
      expect((await daemon.rouse.getAgentHealth(example.agentId)).incarnation).toBe(life);
      await expectCountedToFive(daemon, example);
    }
    expect(await daemon.events("ALERT_RAISED")).toEqual([]);
  });

  it.skipIf(!there)("goes by ROUSE_URL and ROUSE_TOKEN, and outlives a restart of the daemon", async () => {
    const first = await startDaemon();
    const { port } = new URL(first.url);
    const environment = { ROUSE_URL: first.url, ROUSE_TOKEN: first.token };
    const worker = start(example, join(makeFolder(), "elsewhere"), environment);
    await until("it is under way", () => worker.stdout().includes("beat 2"));
    await first.end("SIGKILL");
    const second = await startDaemon({ home: first.home, args: ["--port", port] });
    expect((await worker.ended).code).toBe(0);
    await expectCountedToFive(second, example);
  });
});
