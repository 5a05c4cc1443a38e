import type { StepEvent } from "@rouse/contract";
import { afterEach, expect, it, vi } from "vitest";
import { problem, scriptedRouse } from "./scripted-rouse.test-support.ts";

afterEach(() => void vi.useRealTimers());

/** Lets so much time pass, and what it brings with it happen. */
async function pass(ms: number): Promise<void> {
  const step = 500;
  for (let gone = 0; gone < ms; gone += step) {
    await vi.advanceTimersByTimeAsync(step);
    // Checksums are worked out in another thread: by then those before are there.
    for (let round = 0; round < 3; round++) {
      await crypto.subtle.digest("SHA-256", new Uint8Array(4096));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

it("an hour of 503 costs one warning, few requests and little memory, and then everything is told in order", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
  const rouse = scriptedRouse();
  const { agent, warnings } = rouse.agent({ beatEveryMs: 5000, task: "t" });
  await pass(6000);
  expect(rouse.beats().length).toBeGreaterThan(0);
  let isDown = true;
  rouse.script.instead = () => (isDown ? problem(503, "store-unavailable", "the disk is full") : undefined);
  const before = rouse.asked.length;
  const first = rouse.beats().at(-1)?.sequenceNumber ?? 0;
  for (let minute = 0; minute < 60; minute++) {
    agent.phase(`minute ${minute}`);
    for (let call = 0; call < 100; call++) void agent.tool("count", { minute, call }, () => call);
    void agent.checkpoint(minute, { minute });
    await pass(60_000);
  }
  expect(warnings).toEqual([expect.stringContaining("the disk is full")]);
  // Beats and steps every 15 to 30 s, checkpoints every two minutes.
  expect(rouse.asked.length - before).toBeLessThan(600);
  expect(
    new Set(
      rouse
        .beats()
        .slice(-100)
        .map(({ sequenceNumber }) => sequenceNumber),
    ),
  ).toEqual(new Set([first + 1]));
  expect(agent.connection()).toMatchObject({ state: "retrying", problem: "the disk is full" });
  expect(agent.connection().waiting).toBeLessThan(5300);
  expect(agent.connection().dropped).toBeGreaterThan(6000);

  isDown = false;
  const known = rouse.asked.length;
  await pass(180_000);
  const after = rouse.asked.slice(known);
  const beats = after.filter(({ path }) => path === "/api/v1/heartbeats").map(({ body }) => body);
  expect(beats[0]).toMatchObject({ sequenceNumber: first + 1 });
  expect(beats[1]).toMatchObject({ sequenceNumber: first + 2, phase: "minute 59" });
  expect(after.filter(({ path }) => path.endsWith("/checkpoints")).map(({ body }) => body.step)).toEqual(
    Array.from({ length: 60 }, (_, n) => n),
  );
  const ids = after
    .filter(({ path }) => path.endsWith("/steps"))
    .flatMap(({ body }) => body as readonly StepEvent[])
    .filter(({ kind }) => kind === "tool_call")
    .map(({ id }) => Number(id));
  expect(ids).toEqual([...ids].sort((a, b) => a - b));
  expect(ids.at(-1)).toBe(6000);
  expect(agent.connection()).toMatchObject({ state: "connected", waiting: 0 });
});

it("a clock that is set, to and fro, changes nothing", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
  const rouse = scriptedRouse();
  rouse.agent({ beatEveryMs: 5000 });
  await pass(21_000);
  const count = rouse.beats().length;
  vi.setSystemTime(Date.now() - 86_400_000);
  await pass(20_000);
  vi.setSystemTime(Date.now() + 2 * 86_400_000);
  await pass(20_000);
  expect(rouse.beats().length - count).toBe(8);
  const times = rouse.beats().map(({ timestamp }) => Date.parse(timestamp ?? ""));
  expect(times).toEqual([...times].sort((a, b) => a - b));
});
