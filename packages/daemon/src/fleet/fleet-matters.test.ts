import { canaryId, fleetId, minutes, type RouseEvent, seconds } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { createMemoryDisk, type MemoryDisk } from "../adapters/store-memory/memory-disk.ts";
import { openMemoryStore } from "../adapters/store-memory/open-memory-store.ts";
import { readConfig, requireConfig } from "../config/read-config.ts";
import { handWoundTimers } from "../engine/hand-wound-timers.test-support.ts";
import { handsOff } from "../hands-off.test-support.ts";
import { startMonitor } from "../monitor.ts";
import type { Commit } from "../ports/store.ts";
import { writeFleetNotice } from "./fleet-matters.ts";

const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };
const config = requireConfig(readConfig({ file: { name: "test", text: "preset: fleet" } }));
const names = ["a", "b", "c", "d", "e", "f"];

/** A monitor whose clocks stand in the test's hand, and what it wrote to its disk. */
async function watch({ disk = createMemoryDisk(), at = 0, reachable = true }: Given = {}) {
  const wound = handWoundTimers();
  const clock = { mono: at, boot: at, wall: Date.UTC(2026, 0, 1) + at };
  const commits: Commit[] = [];
  const store = await openMemoryStore(disk);
  const monitor = await startMonitor({
    ...handsOff,
    orchestrator: {
      ...handsOff.orchestrator,
      ask: async () => (reachable ? "delivered" : { problem: "nobody is there" }),
    },
    store: {
      ...store,
      commit(commit) {
        commits.push(commit);
        return store.commit(commit);
      },
    },
    clock: { mono: () => clock.mono, wall: () => clock.wall, read: () => ({ ...clock }) },
    timers: wound.timers,
    alerts: { deliver: async () => undefined },
    log: quiet,
    config,
    version: "test",
  });
  const world = {
    monitor,
    marks: () => commits.flatMap(({ marks: { fleet } }) => (typeof fleet === "string" ? [fleet] : [])),
    markWith: (type: RouseEvent["type"]) =>
      commits.find(({ events }) => events.some(({ event }) => event.type === type))?.marks["fleet"],
    asked: () => monitor.help.words.escalations().map(({ id, agentId }) => [id, agentId]),
    events: async (type: RouseEvent["type"]) => monitor.events({ types: [type], limit: 10 }),
    async live(duration: number, ...beating: string[]): Promise<void> {
      for (let passed = 0; passed < duration; passed += 250) {
        if (passed % 2000 === 0) for (const agentId of beating) await world.beats(agentId);
        for (const name of ["mono", "boot", "wall"] as const) clock[name] += 250;
        await wound.pass(250);
        await wound.turn();
        await wound.turn();
      }
    },
    async beats(agentId: string): Promise<void> {
      let over = false;
      const done = (): void => {
        over = true;
      };
      monitor.takeBeats([{ beat: { agentId } }], done, done);
      while (!over) await wound.turn();
    },
  };
  monitor.sendCanaryBy(async () => void world.beats(canaryId));
  return world;
}

interface Given {
  readonly disk?: MemoryDisk;
  readonly at?: number;
  readonly reachable?: boolean;
}

/** Six beat, and fall silent together; one that is given goes on. */
async function fallSilent(given: Given = {}, ...beating: string[]) {
  const world = await watch(given);
  await world.live(seconds(8), ...names, ...beating);
  await world.live(seconds(90), ...beating);
  return world;
}

describe("the question about many that fell silent together", () => {
  it("is on the disk with what was told of it, and with nothing that changed nothing", async () => {
    const world = await fallSilent({}, "g");
    const decided = world.monitor.help.words.decide(`${fleetId}.1`, {
      ...{ decision: "allow_more_time", actor: "owner", as: "ada", reason: "r" },
    });
    await world.live(seconds(1));
    expect(await decided).toEqual({ outcome: "taken" });
    expect([world.markWith("ESCALATION_TRIGGERED"), world.markWith("ESCALATION_DECIDED")]).toEqual([
      expect.stringContaining('"kind":"asked"'),
      expect.stringContaining('"kind":"more-time"'),
    ]);
    const before = world.marks().length;
    await world.live(seconds(30), "g");
    expect(world.marks()).toHaveLength(before);
  });

  it("is there for the monitor after this one, which asks it again when nobody answers", async () => {
    const disk = createMemoryDisk();
    const first = await fallSilent({ disk });
    expect(first.asked()).toEqual([[`${fleetId}.1`, fleetId]]);
    disk.crash();
    const second = await watch({ disk, at: seconds(100) });
    expect(second.asked()).toEqual([[`${fleetId}.1`, fleetId]]);
    await second.live(minutes(15));
    expect(second.asked()).toEqual([[`${fleetId}.2`, fleetId]]);
  });

  it("can be answered for as much longer as we were not there to hear an answer", async () => {
    const disk = createMemoryDisk();
    const [before] = (await fallSilent({ disk })).monitor.help.words.escalations();
    disk.crash();
    const after = await watch({ disk, at: seconds(98) + minutes(11) });
    const [asked] = after.monitor.help.words.escalations();
    const later = Date.parse(asked?.answerBy ?? "") - Date.parse(before?.answerBy ?? "");
    expect(later / minutes(1)).toBeCloseTo(11, 0);
    await after.live(minutes(10));
    expect(after.asked()).toEqual([[`${fleetId}.1`, fleetId]]);
  });

  it("is nobody's before our own path is proven", async () => {
    const world = await watch();
    world.monitor.sendCanaryBy(async () => undefined);
    await world.live(seconds(8), ...names);
    await world.live(seconds(20));
    expect(world.monitor.status().monitor.fleetIncidents).toMatchObject([{ members: 6, escalation: null }]);
    expect(world.asked()).toEqual([]);
  });

  it("that reaches nobody is said to", async () => {
    const world = await fallSilent({ reachable: false });
    expect(await world.events("ESCALATION_UNDELIVERED")).toMatchObject([{ payload: { agentId: fleetId } }]);
  });

  it("knows who of them has joined since, also after a restart", async () => {
    const disk = createMemoryDisk();
    const first = await watch({ disk });
    await first.live(seconds(8), ...names, "late");
    await first.live(seconds(4), "late");
    await first.live(seconds(12));
    expect(first.asked()).toEqual([]);
    disk.crash();
    const second = await watch({ disk, at: seconds(25) });
    expect(second.monitor.status().monitor.fleetIncidents).toMatchObject([{ members: 7 }]);
  });

  it("promises what can be done: nobody is stopped or resumed where Rouse holds none of them", async () => {
    const [report] = (await fallSilent()).monitor.help.words.escalations();
    const effects = (held: number) =>
      writeFleetNotice(report as never, held, {} as never, []).context.recovery.options.map(({ effect }) => effect);
    expect(effects(0)).toEqual(["waits-longer", "handed-to-a-person", "handed-to-a-person"]);
    expect(effects(2)).toEqual(["waits-longer", "told-and-stopped", "resumes-after-checkpoint"]);
  });

  it("names no command that asks about the fleet as if it were an agent", async () => {
    const [report] = (await fallSilent()).monitor.help.words.escalations();
    for (const reason of ["mass-silence", "mass-failure"]) {
      const { hints } = writeFleetNotice({ ...report, reason } as never, 2, {} as never, []).context;
      expect(hints.map(({ because }) => because)).toContain(reason);
      expect(hints.map(({ command }) => command).join()).not.toContain(fleetId);
    }
  });
});
