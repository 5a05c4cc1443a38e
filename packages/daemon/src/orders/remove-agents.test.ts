import { canaryId, Fault, fleetId, seconds } from "@rouse/contract";
import { expect, it } from "vitest";
import { createMemoryDisk, type MemoryDisk } from "../adapters/store-memory/memory-disk.ts";
import { openMemoryStore } from "../adapters/store-memory/open-memory-store.ts";
import { readConfig, requireConfig } from "../config/read-config.ts";
import { handWoundTimers } from "../engine/hand-wound-timers.test-support.ts";
import { handsOff } from "../hands-off.test-support.ts";
import { startMonitor } from "../monitor.ts";

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const by = { actor: "owner", as: "ada", reason: "done with it" };

/** A monitor whose clocks stand in the test's hand. `forgets`: what becomes of what a holder left. */
async function watch(
  disk: MemoryDisk = createMemoryDisk(),
  forgets: boolean | (() => Promise<boolean>) = true,
  at = 0,
  more = "",
) {
  const wound = handWoundTimers();
  const clock = { mono: at, boot: at, wall: Date.UTC(2026, 0, 1) + at };
  const delivered: string[] = [];
  const inner = await openMemoryStore(disk);
  const store = { isFull: false };
  const monitor = await startMonitor({
    ...handsOff,
    holders: { ...handsOff.holders, forget: async () => (typeof forgets === "boolean" ? forgets : forgets()) },
    store: {
      ...inner,
      async commit(commit) {
        if (store.isFull) throw new Fault("store-unavailable", "the disk is full", { retryable: true });
        await inner.commit(commit);
      },
    },
    clock: { mono: () => clock.mono, wall: () => clock.wall, read: () => ({ ...clock }) },
    timers: wound.timers,
    alerts: { deliver: async ({ key }) => void delivered.push(key) },
    log: silent,
    config: requireConfig(readConfig({ file: { name: "test", text: `preset: fleet\n${more}` } })),
    version: "test",
  });
  async function settled<T>(promise: Promise<T>): Promise<T> {
    let over = false;
    const done = promise.finally(() => {
      over = true;
    });
    done.catch(() => undefined);
    while (!over) await wound.turn();
    return done;
  }
  return {
    monitor,
    delivered,
    store,
    settled,
    async live(duration: number): Promise<void> {
      for (let passed = 0; passed < duration; passed += 250) {
        for (const name of ["mono", "boot", "wall"] as const) clock[name] += 250;
        await wound.pass(250);
        await wound.turn();
        await wound.turn();
      }
    },
    beats: (beat: object) => settled(new Promise((taken, failed) => monitor.takeBeats([{ beat }], taken, failed))),
    remove: (agentId: string) => settled(monitor.remove(agentId, by)),
  };
}

it("an agent that was removed is in nobody's list, also for the monitor after this one, and nothing writes of it again", async () => {
  const disk = createMemoryDisk();
  const first = await watch(disk);
  await first.beats({ agentId: "a", status: "RUNNING" });
  await first.beats({ agentId: "b", status: "RUNNING" });
  await first.beats({ agentId: "a", status: "FINISHED" });
  // Brings nothing new, so its record is saved later.
  await first.beats({ agentId: "a", status: "FINISHED" });
  expect(await first.remove("a")).toMatchObject({ agentId: "a", incarnation: 1, over: { how: "finished" } });
  await first.live(seconds(90));
  expect(() => first.monitor.agent("a")).toThrow("no agent a is known");
  await first.settled(first.monitor.stop());
  expect([...disk.records.values()].map(({ agentId }) => agentId)).toEqual(["b"]);
  const second = await watch(disk, true, seconds(100));
  expect(second.monitor.agents().map(({ agentId }) => agentId)).toEqual(["b"]);
});

it("an agent of the same name is new, but no key is used twice", async () => {
  const disk = createMemoryDisk();
  const first = await watch(disk);
  await first.beats({ agentId: "a", status: "RUNNING" });
  const before = await first.settled(first.monitor.help.words.nudge("a", "owner", "go on", "ada"));
  await first.beats({ agentId: "a", status: "FINISHED" });
  await first.remove("a");
  await first.settled(first.monitor.stop());
  const second = await watch(disk, true, seconds(100));
  await second.beats({ agentId: "a", status: "RUNNING" });
  const after = await second.settled(second.monitor.help.words.nudge("a", "owner", "go on", "ada"));
  expect(after.nudge).not.toBe(before.nudge);
  expect(second.monitor.agent("a")).toMatchObject({ incarnation: 2, metrics: { uptimeSeconds: 0 } });
});

it("who fell silent can be removed once nobody is asked about it, and the alert about it is over", async () => {
  const { monitor, delivered, live, beats, remove } = await watch();
  await beats({ agentId: "a", status: "RUNNING" });
  await beats({ agentId: "b", status: "RUNNING" });
  await expect(remove("a")).rejects.toMatchObject({
    code: "order-refused",
    message: expect.stringContaining("heartbeats"),
  });
  for (let s = 0; s < 40; s += 5) {
    await live(seconds(5));
    await beats({ agentId: "b", status: "RUNNING" });
  }
  expect(monitor.agent("a")).toMatchObject({ state: "UNRESPONSIVE" });
  await expect(remove("a")).rejects.toThrow("`rouse escalations` shows it");
  while (monitor.agent("a").handedOver === null) {
    await live(seconds(5));
    await beats({ agentId: "b", status: "RUNNING" });
  }
  expect(await remove("a")).toMatchObject({ over: null });
  await live(seconds(1));
  expect(delivered.at(-1)).toMatch(/^a\/.*\/resolved$/);
});

it("nothing is removed while its holder is there, and the trail says who wanted it", async () => {
  const { monitor, beats, remove } = await watch(createMemoryDisk(), false);
  await beats({ agentId: "a", status: "FINISHED" });
  await expect(remove("a")).rejects.toMatchObject({ retryable: true, message: expect.stringContaining("holder of a") });
  expect(monitor.agent("a").over).toMatchObject({ how: "finished" });
  const events = await monitor.events({ types: ["AGENT_REMOVED"], limit: 10 });
  expect(events).toEqual([]);
  const trail = await monitor.audit.read({ subject: "a", limit: 10 });
  expect(trail).toMatchObject([
    { action: "order-remove", actor: "owner", reason: "done with it" },
    { action: "order-refused", reason: "held" },
  ]);
});

it("nothing is removed nor on record while nothing can be saved", async () => {
  const { monitor, store, live, beats, remove } = await watch();
  await beats({ agentId: "a", status: "FINISHED" });
  store.isFull = true;
  await expect(beats({ agentId: "b", status: "RUNNING" })).rejects.toMatchObject({ code: "store-unavailable" });
  await expect(remove("a")).rejects.toMatchObject({ code: "store-unavailable" });
  store.isFull = false;
  await live(seconds(30));
  expect(monitor.agent("a").over).toMatchObject({ how: "finished" });
  expect(await monitor.audit.read({ subject: "a", limit: 10 })).toEqual([]);
});

it("that it is wanted is on record before anything of its holder goes", async () => {
  const disk = createMemoryDisk();
  let onRecord: unknown;
  const { beats, remove } = await watch(disk, async () => {
    onRecord = disk.audit.map(({ action }) => action);
    return true;
  });
  await beats({ agentId: "a", status: "FINISHED" });
  await remove("a");
  expect(onRecord).toContain("order-remove");
});

/** Holders that let go of what they left when the test says so. */
function slowHolders() {
  const letGo: (() => void)[] = [];
  const forgets = () => new Promise<boolean>((resolve) => void letGo.push(() => resolve(true)));
  return { letGo, forgets };
}

it("who works again by the time its holder has let go of it stays", async () => {
  const { letGo, forgets } = slowHolders();
  const { monitor, beats, settled } = await watch(createMemoryDisk(), forgets);
  await beats({ agentId: "a", status: "FINISHED" });
  const removing = monitor.remove("a", by);
  await beats({ agentId: "a", status: "RUNNING" });
  letGo[0]?.();
  await expect(settled(removing)).rejects.toThrow("a sends heartbeats by itself");
  expect(monitor.agent("a").over).toBeNull();
});

it("two who remove the same agent remove it once, and not the one that has its name by then", async () => {
  const { letGo, forgets } = slowHolders();
  const { monitor, beats, settled } = await watch(createMemoryDisk(), forgets);
  await beats({ agentId: "a", status: "FINISHED" });
  const [first, second] = [monitor.remove("a", by), monitor.remove("a", by)];
  await beats({ agentId: "b", status: "RUNNING" });
  letGo[0]?.();
  await settled(first);
  await beats({ agentId: "a", status: "RUNNING" });
  letGo[1]?.();
  await settled(second);
  expect(monitor.agent("a")).toMatchObject({ state: "HEALTHY", over: null });
  expect(await monitor.events({ types: ["AGENT_REMOVED"], limit: 10 })).toHaveLength(1);
});

it("who has a task on its hook is not removed", async () => {
  const { monitor, beats, live, remove, settled } = await watch(
    createMemoryDisk(),
    true,
    0,
    "health_monitoring:\n  mode: observe\n",
  );
  const { service } = monitor.help;
  for (const agentId of ["a", "b"]) await beats({ agentId, status: "RUNNING" });
  await settled(service.create({ taskId: "t" }));
  await settled(service.claim("t", { agentId: "a" }));
  for (let s = 0; s < 60; s += 5) {
    await live(seconds(5));
    await beats({ agentId: "b", status: "RUNNING" });
  }
  expect(monitor.agent("a")).toMatchObject({ state: "UNRESPONSIVE" });
  await expect(remove("a")).rejects.toThrow("a has a task on its hook");
});

it("a new agent is trusted with tasks, however those of the one before it ended", async () => {
  const { monitor, beats, remove, settled } = await watch();
  const { service, tasks } = monitor.help;
  for (const taskId of ["t1", "t2", "t3"]) {
    await settled(service.create({ taskId }));
    const { claim } = await settled(service.claim(taskId, { agentId: "a" }));
    await settled(service.fail(taskId, { agentId: "a", claim: claim?.number }));
  }
  expect(tasks.standingOf("a")?.standing).toBe("few");
  await beats({ agentId: "a", status: "FINISHED" });
  await remove("a");
  expect(tasks.standingOf("a")).toBeNull();
});

it("a new agent has none of what was done about one that was removed, and numbers of its own", async () => {
  const world = await watch();
  await world.beats({ agentId: "a", status: "RUNNING" });
  const first = await world.settled(world.monitor.help.words.nudge("a", "owner", "go on", "ada"));
  await world.beats({ agentId: "a", status: "FINISHED" });
  expect(world.monitor.agent("a").metrics.interventionCount).toBe(1);
  await world.remove("a");
  await world.beats({ agentId: "b", status: "RUNNING" });
  expect(world.monitor.agent("b").metrics.interventionCount).toBe(0);
  const next = await world.settled(world.monitor.help.words.nudge("b", "owner", "go on", "ada"));
  expect(world.monitor.agent("b").metrics.interventionCount).toBe(1);
  expect([first.nudge, next.nudge]).toEqual(["a/1/nudge/1", "b/1/nudge/2"]);
});

it("nobody is removed about whom somebody was asked together with others, before that is decided; with the last of them the matter is over", async () => {
  const world = await watch();
  const names = ["a", "b", "c", "d", "e", "f"];
  for (let round = 0; round < 4; round++) {
    for (const agentId of names) await world.beats({ agentId, status: "RUNNING", sequence: round + 1 });
    await world.live(seconds(2));
  }
  world.monitor.sendCanaryBy(async () => void world.beats({ agentId: canaryId }));
  await world.live(seconds(90));
  expect(world.monitor.help.words.escalations().map(({ agentId }) => agentId)).toEqual([fleetId]);
  await expect(world.remove("a")).rejects.toThrow("somebody was asked what to do about a");
  const decided = { ...by, decision: "force_handoff" } as const;
  await world.settled(world.monitor.help.words.decide(`${fleetId}.1`, decided));
  for (const agentId of names) await world.remove(agentId);
  expect(world.monitor.status().monitor.fleetIncidents).toEqual([]);
  expect(await world.monitor.events({ types: ["FLEET_INCIDENT_CLOSED"], limit: 10 })).toHaveLength(1);
});
