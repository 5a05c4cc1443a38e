import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Timers } from "../../ports/clock.ts";
import type { TaskSource } from "../../ports/task-source.ts";
import { openDesk } from "../../tasks/serve-tasks.ts";
import { type TaskWorld, taskWorld } from "../../tasks/task-world.test-support.ts";
import { systemTimers } from "../clock-system/system-clock.ts";
import { openTaskFile } from "./open-task-file.ts";

/** Nobody waits longer than a moment. */
const hasty: Timers = {
  ...systemTimers,
  after: (delay, callback) => systemTimers.after(Math.min(delay, 20), callback),
};
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

let folder: string;
let path: string | undefined;
let world: TaskWorld;
let source: TaskSource;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "rouse-tasks-"));
  path = "tasks.jsonl";
  world = await taskWorld();
  source = openTaskFile({ file: () => path, folder, timers: hasty, log: silent });
  source.begin(openDesk(world.tasks, world.service, world.onSaved));
});

afterEach(async () => {
  await source.close();
  rmSync(folder, { recursive: true });
});

const inFile = (name: string) => readFileSync(join(folder, name), "utf8");

describe("the task file", () => {
  it("is found when it comes, followed while it changes, and told what becomes of its tasks", async () => {
    writeFileSync(join(folder, "tasks.jsonl"), '{"id":"a"}\n');
    await expect.poll(() => world.tasks.find("a")).toBeDefined();
    appendFileSync(join(folder, "tasks.jsonl"), '{"id":"b"}\n');
    await expect.poll(() => world.tasks.find("b")).toBeDefined();
    await expect.poll(() => inFile("tasks.jsonl").match(/"status":"pending"/g)).toHaveLength(2);
    await world.service.claim("b", { agentId: "w" });
    await expect.poll(() => inFile("tasks.jsonl")).toContain('"status":"claimed"');
  });

  it("may be another one after the configuration was read again, or none", async () => {
    writeFileSync(join(folder, "other.jsonl"), '{"id":"x"}\n');
    path = join(folder, "other.jsonl");
    await expect.poll(() => inFile("other.jsonl")).toContain("pending");
    path = undefined;
    writeFileSync(join(folder, "tasks.jsonl"), '{"id":"y"}\n');
    path = join(folder, "tasks.jsonl");
    await expect.poll(() => inFile("tasks.jsonl")).toContain("pending");
  });

  it("is let go of when Rouse stops, however often it is told to", async () => {
    await Promise.all([source.close(), source.close()]);
    writeFileSync(join(folder, "tasks.jsonl"), '{"id":"a"}\n');
    await source.close();
    await world.service.create({ taskId: "b" });
    expect(inFile("tasks.jsonl")).toBe('{"id":"a"}\n');
    expect(world.tasks.find("a")).toBeUndefined();
  });
});
