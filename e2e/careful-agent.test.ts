import { once } from "node:events";
import { readFileSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Recovery } from "@rouse/contract";
import { afterEach, describe, expect, it } from "vitest";
import { agentOnce } from "./agent-once.ts";
import { afterwards, cleanUp, makeFolder } from "./clean-up.ts";
import { agentLives, holderOf, outputOf, spawnAgent } from "./held-agents.ts";
import { repository } from "./run-rouse.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

afterEach(cleanUp);

const kills = 20;
const files = 10;
/** For the moments of the kills; set it to see a failure again. */
const seed = Number(process.env["E2E_SEED"] ?? Date.now() % 1_000_000);

/** An agent may be killed so often here, and is brought back at once. */
const patient = `
preset: fleet
health_monitoring:
  heartbeat: { interval_seconds: 5, idle_interval_seconds: 5, grace_seconds: 5 }
  restart: { cooldown_seconds: 0.05, max_attempts: 100 }
  recovery: { max_attempts_per_task: 100, max_attempts_per_hour: 100, backoff_seconds: [0.05], probation_seconds: 0.01 }
  circuit_breaker: { overrides: { recovery_attempt: { failure_threshold: 100 } } }
`;

interface Model {
  readonly url: string;
  readonly board: ReadonlyMap<string, readonly string[]>;
  readonly counts: Readonly<Record<"answer" | "later" | "fail" | "hang" | "pinned", number>>;
  close(): Promise<void>;
}
interface ModelPlan {
  wait(text: string): Promise<void>;
  onPinned(): void;
}
type StartModel = (plan: ModelPlan) => Promise<Model>;

async function startModel(plan: ModelPlan): Promise<Model> {
  const module = (await import(join(repository, "examples", "careful-agent", "model.mjs"))) as {
    startModel: StartModel;
  };
  const model = await module.startModel(plan);
  afterwards(() => model.close());
  return model;
}

const nameOf = (number: number): string => `${String(number).padStart(2, "0")}.txt`;
const keyOf = (number: number): string => `notes/${number}/note on ${nameOf(number)}`;
const numbers = Array.from({ length: files }, (_, i) => i + 1);

describe(`examples/careful-agent, killed at random ${kills} times (E2E_SEED=${seed})`, () => {
  it("finishes, has each note once, loses no checkpoint, and Rouse tells of each time as it was", async () => {
    const random = seeded(seed);
    const folder = makeFolder();
    for (const number of numbers) writeFileSync(join(folder, nameOf(number)), `text${number} has some words\n`);
    const report = join(folder, "report.jsonl");
    let killed = 0;
    // The last answer waits for the last kill: the agent is never done before.
    let onPinned: () => void = () => undefined;
    const model = await startModel({
      async wait(text) {
        if (text.startsWith(`text${files} `)) await until("the last kill", () => killed === kills, 600_000);
      },
      onPinned: () => onPinned(),
    });
    const pinned = (): Promise<void> =>
      new Promise((resolve) => {
        onPinned = resolve;
      });
    const watcher = watch(folder);
    afterwards(() => watcher.close());
    const written = (): Promise<unknown> => once(watcher, "change");
    let daemon = await startDaemon({ config: patient });
    const agent = join(repository, "examples", "careful-agent", "agent.mjs");
    const options = ["--task", "notes", "--restart", "on-failure:100", "--env", `MODEL_URL=${model.url}`];
    await spawnAgent(daemon.home, "careful", [process.execPath, agent, folder, report], options);

    let last: number | undefined;
    while (killed < kills) {
      const pid = await until(`life ${killed + 1} runs`, () => {
        const file = holderOf(daemon.home, "careful");
        return agentLives(file) && file.agent?.pid !== last && file.agent?.pid;
      });
      // Random moments are what is tried here. Most of them fall between an effect and the checkpoint after it.
      const [kind, anyTime, soonAfter] = [random(), random() * 1000, random() * 5];
      if (kind < 0.3 || model.board.size >= files - 1) await pause(anyTime);
      // Once the last note but one is written and not pinned, nothing more may come before the next kill.
      else await Promise.race([kind < 0.5 ? pinned() : written(), pause(3000)]).then(() => pause(soonAfter));
      const isDaemonsTurn = random() < 0.2;
      const isFirst = random() < 0.5;
      if (isDaemonsTurn && isFirst) await daemon.end("SIGKILL");
      if (isDaemonsTurn) await pause(random() * 700);
      process.kill(pid, "SIGKILL");
      killed += 1;
      last = pid;
      if (isDaemonsTurn && !isFirst) await daemon.end("SIGKILL");
      if (isDaemonsTurn) daemon = await startAgain(daemon);
    }

    const { incarnation } = await agentOnce(daemon, "careful", "finishes", ({ over }) => over?.how === "finished");
    expect(incarnation).toBe(kills + 1);
    const lines = readFileSync(report, "utf8").trim().split("\n");
    const notes = lines.map((line) => JSON.parse(line) as { key: string; note: string });
    expect(notes.map(({ key }) => key)).toEqual(numbers.map(keyOf));
    expect(model.board).toEqual(new Map(notes.map(({ key, note }) => [key, [note]])));

    // One whose answer never came is sent again by the next life: then it is there twice, with the same state.
    const saved = (await daemon.rouse.checkpoints("notes", { limit: 100 })).toReversed();
    const anew = saved.filter(({ step }, i) => step !== saved[i - 1]?.step);
    expect(anew.map(({ step }) => step)).toEqual([0, ...numbers]);
    expect(new Set(saved.map(({ stateHash }) => stateHash)).size).toBe(anew.length);
    expect(await daemon.rouse.verifyCheckpoints("notes")).toMatchObject({ sound: true });

    const { recoveries } = await daemon.rouse.recoveries({ agentId: "careful", limit: 100 });
    const { text } = outputOf(daemon.home, "careful");
    expectAgreement(recoveries, text);
    expect(await daemon.rouse.escalations({ agentId: "careful" })).toEqual([]);
    expect((await daemon.rouse.incidents({ agentId: "careful" })).incidents).toEqual([]);
    expect(model.counts.fail).toBeGreaterThan(0);
    expect(model.counts.later).toBeGreaterThan(0);
  }, 300_000);
});

const startAgain = async ({ home, url }: Daemon): Promise<Daemon> =>
  startDaemon({ home, args: ["--port", new URL(url).port] });

/** One recovery for each kill, each after the step that was completed then, and the agent was told the same. */
function expectAgreement(recoveries: readonly Recovery[], printed: string): void {
  const inOrder = recoveries.toReversed();
  expect(inOrder.map(({ outcome }) => outcome)).toEqual(inOrder.map(() => "completed"));
  expect(inOrder.map(({ completed }) => completed?.incarnation)).toEqual(inOrder.map((_, i) => i + 2));
  expect(inOrder).toHaveLength(kills);
  for (const { because, completed } of inOrder) {
    expect(because).toBe("UNRESPONSIVE: process-exited, killed");
    // A life that was killed before it saved anything is followed by one that starts over, with nothing lost.
    expect(completed?.lost).toMatchObject({ checkpoints: 0, flaws: [] });
  }
  const steps = inOrder.map(({ completed }) => completed?.step ?? 0);
  expect(steps).toEqual(steps.toSorted((a, b) => a - b));
  // A life that was killed at once has said nothing; whoever spoke said what Rouse tells.
  const said = [...printed.matchAll(/^back after step (\w+):/gm)].map(([, step]) => Number(step === "null" ? 0 : step));
  const left = [...steps];
  expect(said.filter((step) => !left.splice(0, left.indexOf(step) + 1).includes(step))).toEqual([]);
  expect(said.length).toBeGreaterThan(0);
}

/** mulberry32 */
function seeded(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
