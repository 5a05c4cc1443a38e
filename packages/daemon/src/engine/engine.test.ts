import { Fault, type MonoMs } from "@rouse/contract";
import type { Letter, Machine } from "@rouse/core";
import { describe, expect, it } from "vitest";
import { systemTimers } from "../adapters/clock-system/system-clock.ts";
import { createMemoryDisk } from "../adapters/store-memory/memory-disk.ts";
import { openMemoryStore } from "../adapters/store-memory/open-memory-store.ts";
import { keepAuditTrail } from "../audit/audit-trail.ts";
import type { Commit } from "../ports/store.ts";
import { createEngine } from "./engine.ts";
import { groupCommits } from "./group-commit.ts";
import { hostMachine } from "./host-machine.ts";
import type { Moment } from "./steady-clock.ts";

interface Counted {
  readonly heard: readonly string[];
  readonly wakeAt: MonoMs | null;
}

type Said = { readonly say: string; readonly to?: readonly Letter[]; readonly wakeAt?: MonoMs };

const moment = (now: number): Moment => ({ now, time: now });

/** A machine that remembers what it was told and writes the letters it was given; two of them on one engine. */
async function world(disk = createMemoryDisk()) {
  const store = await openMemoryStore(disk);
  const epoch = await store.takeOver();
  const resumption = await store.resume();
  const saved: Commit[] = [];
  const order: string[] = [];
  let down: Fault | null = null;
  const failing = {
    ...store,
    commit: async (commit: Commit) => (down === null ? store.commit(commit) : Promise.reject(down)),
  };
  const commits = groupCommits(failing, epoch, systemTimers, {
    committed: (commit) => void saved.push(commit),
    wentDown: () => undefined,
    cameBack: () => undefined,
  });
  const audit = keepAuditTrail({ last: null, store: "store", isSealed: true, sign: () => "signed" });
  const engine = createEngine({ commits, audit, readClock: () => moment(7), lastEventId: 0 });
  const machine = (name: string): Machine<Counted, Said, null, number> => ({
    name,
    step(record, { say, to = [], wakeAt = null }) {
      order.push(`${name} ${say}`);
      const heard = [...record.heard, say];
      return { record: { heard, wakeAt }, reply: heard.length, events: [], actions: [], letters: to };
    },
    wakeAt: ({ wakeAt }) => wakeAt,
    restore: (json) => JSON.parse(json),
    serialise: JSON.stringify,
  });
  const room = (name: string) =>
    hostMachine({
      ...{ engine, commits, machine: machine(name), begin: () => ({ heard: [], wakeAt: null }), agentOf: () => null },
      ...{ contextOf: () => null, wakeSignal: { say: "woken" } },
    });
  const [cats, dogs] = [room("cat"), room("dog")];
  for (const one of [cats, dogs]) one.restore(resumption.machines);
  return {
    ...{ engine, commits, cats, dogs, order, saved, disk },
    goesDown: () => {
      down = new Fault("store-unavailable", "no room", { retryable: true });
    },
  };
}

const letter = (machine: string, id: string, say: string, ...to: Letter[]): Letter => ({
  ...{ machine, id, signal: { say, to } },
});

describe("the engine", () => {
  it("answers with the step's own reply, after everything that follows from it", async () => {
    const { cats, order } = await world();
    expect(cats.submit("tom", { say: "one", to: [letter("dog", "rex", "two")] }, moment(1))).toBe(1);
    expect(order).toEqual(["cat one", "dog two"]);
  });

  it("delivers letters in the order they were written, none before the step that wrote it is done", async () => {
    const { cats, order } = await world();
    const to = [
      letter("dog", "rex", "b", letter("cat", "tom", "d")),
      letter("cat", "kit", "c", letter("dog", "rex", "e")),
    ];
    cats.submit("tom", { say: "a", to }, moment(1));
    expect(order).toEqual(["cat a", "dog b", "cat c", "cat d", "dog e"]);
  });

  it("saves a step and all that followed from it in one commit, each record once and as it was last", async () => {
    const { cats, commits, saved } = await world();
    cats.submit("tom", { say: "a", to: [letter("dog", "rex", "b", letter("cat", "tom", "c"))] }, moment(1));
    await commits.saved();
    expect(saved).toHaveLength(1);
    expect(saved[0]?.machines.map(({ machine, id, record }) => [machine, id, JSON.parse(record ?? "").heard])).toEqual([
      ["cat", "tom", ["a", "c"]],
      ["dog", "rex", ["b"]],
    ]);
  });

  it("goes on after a crash with what was saved, and wakes who is due by its own room", async () => {
    const first = await world();
    first.cats.submit("tom", { say: "a", wakeAt: 1000 }, moment(1));
    first.dogs.submit("rex", { say: "b" }, moment(1));
    await first.commits.saved();
    first.disk.crash();
    const second = await world(first.disk);
    expect(second.cats.find("tom")).toEqual({ heard: ["a"], wakeAt: 1000 });
    for (const kept of second.engine.takeDue(5000)) second.engine.wake(kept, moment(5000));
    expect(second.order).toEqual(["cat woken"]);
  });

  it("forgets for good what is to be forgotten", async () => {
    const first = await world();
    first.cats.submit("tom", { say: "a" }, moment(1));
    await first.commits.saved();
    expect(first.cats.forget("tom")).toMatchObject({ heard: ["a"] });
    await first.commits.saved();
    first.disk.crash();
    const second = await world(first.disk);
    expect(second.cats.find("tom")).toBeNull();
  });

  it("delivers the letters behind one whose step throws, and saves what came of them", async () => {
    const { engine, cats, order, commits, disk } = await world();
    const to = [letter("dog", "rex", "b"), { machine: "dog", id: "spot", signal: null }, letter("dog", "rex", "c")];
    expect(() => cats.submit("tom", { say: "a", to }, moment(1))).toThrow();
    expect(order).toEqual(["cat a", "dog b", "dog c"]);
    await commits.saved();
    disk.crash();
    expect((await world(disk)).dogs.find("rex")).not.toBeNull();
    cats.submit("tom", { say: "d" }, moment(1));
    expect(order.at(-1)).toBe("cat d");
    engine.post("bird", "tweety", { say: "x" });
    expect(() => engine.deliver(moment(1))).toThrow("a letter to bird, which nobody hosts");
  });

  it("takes nothing in from outside while it could not be saved", async () => {
    const { engine, commits, cats, goesDown } = await world();
    expect(engine.begin()).toEqual(moment(7));
    goesDown();
    cats.submit("tom", { say: "a" }, moment(1));
    await expect(commits.saved()).rejects.toThrow("no room");
    expect(() => engine.begin()).toThrow("no room");
    commits.stop();
  });
});
