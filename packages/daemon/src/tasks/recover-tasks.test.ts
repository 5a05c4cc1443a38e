import { type EpochMs, type MonoMs, minutes, type RecoveryContext } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { readConfig, requireConfig } from "../config/read-config.ts";
import { recoverTasks } from "./recover-tasks.ts";
import { dawn, exited, stopped, type TaskWorld, taskWorld } from "./task-world.test-support.ts";

const config = requireConfig(readConfig({ file: { name: "test", text: "preset: default" } }));

const context: RecoveryContext = {
  taskId: "t",
  checkpoint: null,
  step: null,
  stepName: null,
  reason: "it crashed",
  attempt: 1,
  lost: { checkpoints: 0, steps: 0, flaws: [], startsOver: false },
  stateFile: null,
  workspace: null,
};

const partsIn = ({ roster, tasks, commits, doubt, readClock, engine: { addToTrail } }: TaskWorld) => ({
  roster,
  tasks,
  commits,
  doubt,
  readClock,
  addToTrail,
  checkpoints: { contextFor: () => Promise.reject(new Error("nobody is started here")) },
  config: () => config,
  toWall: (at: MonoMs): EpochMs => dawn + at,
  recover: () => Promise.reject(new Error("nobody is started here")),
});
const recoveryIn = (world: TaskWorld) => recoverTasks(partsIn(world));

async function atWork(): Promise<TaskWorld> {
  const world = await taskWorld();
  world.holds({ agentId: "a", taskId: "t" });
  await world.service.create({ taskId: "t" });
  await world.service.claim("t", { agentId: "a" });
  return world;
}

async function crashAndComeBack(world: TaskWorld, incarnation: number): Promise<void> {
  world.reports("a", 1, exited({ code: 1 }));
  world.pass(minutes(1));
  await world.handsAnswer("restart-agent", { kind: "restarted", incarnation, recovery: context });
  world.holds({ agentId: "a", taskId: "t", incarnation });
}

describe("how far the recovery of a task has come", () => {
  it("counts every time its agent was brought back, also after a crash", async () => {
    const world = await atWork();
    const { recoveryStatus } = recoveryIn(world);
    expect(recoveryStatus("t")).toMatchObject({ phase: "none", attempts: 0, attemptsAllowed: 3 });
    for (const incarnation of [2, 3]) {
      await crashAndComeBack(world, incarnation);
      expect(recoveryStatus("t")).toMatchObject({ phase: "recovered", attempts: incarnation - 1, attemptsAllowed: 3 });
    }
  });

  it("is known of a task that was never announced, too", async () => {
    const world = await taskWorld();
    world.holds({ agentId: "a", taskId: "t" });
    await crashAndComeBack(world, 2);
    expect(world.tasks.find("t")).toBeUndefined();
    expect(recoveryIn(world).recoveryStatus("t")).toMatchObject({ phase: "recovered", attempts: 1 });
  });

  it("is not called recovered while its agent is down and somebody is asked what to do", async () => {
    const world = await atWork();
    for (const incarnation of [2, 3, 4]) await crashAndComeBack(world, incarnation);
    world.reports("a", 1, exited({ code: 1 }));
    world.pass(minutes(1));
    expect(world.mustWatch("a").record.ladder.incident?.stage.kind).toBe("escalated");
    expect(recoveryIn(world).recoveryStatus("t")).toMatchObject({
      phase: "waiting",
      nextAttemptAt: null,
      because: "UNRESPONSIVE: process-exited",
    });
  });

  it("says why an agent could not be started again at a person's word", async () => {
    const world = await atWork();
    await crashAndComeBack(world, 2);
    world.orders("a", "restart");
    await world.handsAnswer("save-work", { kind: "work", work: { kind: "nothing-to-save" } });
    await world.handsAnswer("stop-agent", { kind: "stop", stop: stopped });
    world.reports("a", 1, exited({ signal: "SIGTERM", cause: "stopped" }));
    expect(recoveryIn(world).recoveryStatus("t").phase).toBe("starting");
    const problem = "cannot run ./agent.sh: no such file";
    await world.handsAnswer("restart-agent", { kind: "not-restarted", problem });
    expect(recoveryIn(world).recoveryStatus("t")).toMatchObject({ phase: "none", because: problem });
  });
});

describe("what an agent is brought back with", () => {
  const start = {
    kind: "restart-agent",
    key: "k",
    agentId: "a",
    incarnation: 1,
    taskId: "t",
    reason: "r",
    attempt: 1,
    afterLimit: false,
  } as const;
  const checkpoints = (heard: (taskId: string | null) => void = () => {}) => ({
    async contextFor(taskId: string | null) {
      heard(taskId);
      return { context: { ...context, taskId }, state: null };
    },
  });

  it("is nothing of a task that became another's while it was down", async () => {
    const world = await atWork();
    const asked: (string | null)[] = [];
    const { revivalFor } = recoverTasks({
      ...partsIn(world),
      checkpoints: checkpoints((taskId) => asked.push(taskId)),
    });
    await revivalFor(start);
    world.holds({ agentId: "b", taskId: null });
    await world.service.reassign("t", { actor: "ann", to: "b" });
    await revivalFor(start);
    expect(asked).toEqual(["t", null]);
  });

  it("is its conversation, unless that is as long as its program can bear", async () => {
    const world = await atWork();
    world.holds({ agentId: "a", taskId: "t", incarnation: 2, family: "claude-code" });
    const { revivalFor } = recoverTasks({ ...partsIn(world), checkpoints: checkpoints() });
    world.reports("a", 1, { sights: [{ kind: "session", id: "s1", model: null, version: null }] });
    expect(await revivalFor(start)).toMatchObject({ session: "s1" });
    expect(await revivalFor(start)).not.toHaveProperty("sessionFull");
    world.reports("a", 2, { sights: [{ kind: "context-limit", pattern: "prompt is too long" }] });
    expect(await revivalFor(start)).toMatchObject({ session: "s1", sessionFull: true });
    world.reports("a", 3, exited({ signal: "SIGKILL" }));
    expect(await revivalFor(start)).not.toHaveProperty("sessionFull");
  });
});

describe("bringing a task back", () => {
  const order = { actor: "ann", reason: "I want it", force: false };

  it("is refused when it is completed, and nobody is started for it", async () => {
    const world = await atWork();
    await world.service.complete("t", { agentId: "a" });
    await expect(recoveryIn(world).recoverTask("t", order)).rejects.toMatchObject({
      code: "task-refused",
      message: "t is completed: there is nothing to go on with",
    });
  });

  it("that is refused is on record, with who wanted it and why not", async () => {
    const world = await atWork();
    await world.service.create({ taskId: "u" });
    await world.service.complete("t", { agentId: "a" });
    for (const taskId of ["t", "u"]) await expect(recoveryIn(world).recoverTask(taskId, order)).rejects.toThrow();
    const trail = await world.store.readAudit({ limit: 10 });
    expect(trail.map(({ actor, action, subject, reason }) => [actor, action, subject, reason].join(" "))).toEqual([
      "ann order-restart t I want it",
      "rouse order-refused t over",
      "ann order-restart u I want it",
      "rouse order-refused u nobodys",
    ]);
  });

  it("is refused when it has failed, with the way to begin it anew", async () => {
    const world = await atWork();
    await world.service.fail("t", { agentId: "a" });
    await expect(recoveryIn(world).recoverTask("t", order)).rejects.toMatchObject({
      code: "task-refused",
      message: "t is failed: `rouse tasks retry t` begins it anew",
    });
  });
});
