import { canaryId, Fault, type HeartbeatAck, minutes, seconds } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { createMemoryDisk, type MemoryDisk } from "./adapters/store-memory/memory-disk.ts";
import { openMemoryStore } from "./adapters/store-memory/open-memory-store.ts";
import { readConfig, requireConfig } from "./config/read-config.ts";
import { handWoundTimers } from "./engine/hand-wound-timers.test-support.ts";
import { handsOff } from "./hands-off.test-support.ts";
import { type Monitor, startMonitor } from "./monitor.ts";

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** A monitor whose clocks stand in the test's hand. */
async function watch(disk: MemoryDisk = createMemoryDisk(), at = 0, preset = "fleet") {
  const wound = handWoundTimers();
  const clock = { mono: at, boot: at, wall: Date.UTC(2026, 0, 1) + at };
  const delivered: string[] = [];
  const looked = { anew: 0 };
  const closed: string[] = [];
  const errors: string[] = [];
  const store = await openMemoryStore(disk);
  let trouble: Fault | null = null;
  const monitor = await startMonitor({
    ...handsOff,
    holders: {
      ...handsOff.holders,
      lookAnew: () => void looked.anew++,
      close: async () => void closed.push("holders"),
    },
    orchestrator: { ...handsOff.orchestrator, close: () => void closed.push("orchestrator") },
    store: {
      ...store,
      commit: async (commit) => (trouble === null ? store.commit(commit) : Promise.reject(trouble)),
    },
    clock: { mono: () => clock.mono, wall: () => clock.wall, read: () => ({ ...clock }) },
    timers: wound.timers,
    alerts: { deliver: async ({ key }) => void delivered.push(key) },
    log: { ...silent, error: (_, message) => void errors.push(message) },
    config: requireConfig(readConfig({ file: { name: "test", text: `preset: ${preset}` } })),
    version: "test",
  });
  const advance = (by: number): void => {
    clock.mono += by;
    clock.boot += by;
    clock.wall += by;
  };
  return {
    monitor,
    clock,
    delivered,
    looked,
    closed,
    errors,
    advance,
    /** Time passes with the event loop turning. */
    async live(duration: number): Promise<void> {
      for (let passed = 0; passed < duration; passed += 250) {
        advance(250);
        await wound.pass(250);
        await wound.turn();
        await wound.turn();
      }
    },
    async beats(beat: object): Promise<HeartbeatAck | undefined> {
      const answer = new Promise<readonly HeartbeatAck[]>((taken, failed) =>
        monitor.takeBeats([{ beat }], taken, failed),
      );
      await wound.turn();
      return (await answer)[0];
    },
    turn: wound.turn,
    /** Our own beat, as the daemon sends it. */
    canary: () =>
      new Promise<void>((taken, failed) => monitor.takeBeats([{ beat: { agentId: canaryId } }], () => taken(), failed)),
    storeBreaks(): void {
      trouble = new Fault("store-unavailable", "the disk is full", { retryable: true });
    },
    storeMends(): void {
      trouble = null;
    },
  };
}

const few = 100;

describe("a request with as much as one may bring", () => {
  const times = Array.from({ length: 10_000 }, (_, index) => index);

  it("of steps is taken a little in each turn of the event loop, and answered when all of it is saved", async () => {
    const { monitor, turn } = await watch();
    const sent = times.map((index) => ({ kind: "tool_call", tool: "Bash", args: `step ${index}` }));
    let answer: unknown = null;
    void monitor.takeSteps("a", [...sent.slice(0, -1), { kind: "nonsense" }], null).then((ack) => (answer = ack));
    for (let before = 0; answer === null; ) {
      await turn();
      const taken = monitor.counters().turns;
      expect(taken - before).toBeLessThanOrEqual(2 * few);
      before = taken;
    }
    expect(answer).toMatchObject({ accepted: 9999, rejected: [{ index: 9999 }] });
    expect((await monitor.steps("a", { limit: 10_000 })).steps).toHaveLength(9999);
  });

  it("of beats is taken a little in each turn of the event loop, and each is acknowledged in its place", async () => {
    const { monitor, turn } = await watch();
    const sent = times.map((sequenceNumber) => ({ beat: { agentId: "a", status: "RUNNING", sequenceNumber } }));
    let answer: readonly HeartbeatAck[] | null = null;
    monitor.takeBeats(
      sent,
      (acks) => (answer = acks),
      (error) => expect.unreachable(String(error)),
    );
    for (let before = 0; answer === null; ) {
      await turn();
      const taken = monitor.counters().beats.accepted;
      expect(taken - before).toBeLessThanOrEqual(few);
      before = taken;
    }
    expect((answer as readonly HeartbeatAck[]).map((ack) => ack.sequenceNumber)).toEqual(times);
  });

  it("of breakers that go up and down is taken a little in each turn, too", async () => {
    const { monitor, turn } = await watch();
    const news = (state: string) => times.slice(0, 100).map((i) => ({ operation: `external_api/${i}`, state }));
    const sent = times.slice(0, 20).map((i) => ({ beat: { agentId: "a", breakers: news(i % 2 ? "CLOSED" : "OPEN") } }));
    let isAnswered = false;
    monitor.takeBeats(
      sent,
      () => {
        isAnswered = true;
      },
      (error) => expect.unreachable(String(error)),
    );
    for (let before = 0; !isAnswered; ) {
      await turn();
      const taken = monitor.counters().beats.accepted;
      expect(taken - before).toBeLessThanOrEqual(1);
      before = taken;
    }
  });
});

const gaps = async (monitor: Monitor): Promise<string[]> =>
  (await monitor.events({ types: ["MONITOR_GAP"], limit: 100 })).map(
    ({ payload }) => (payload as { cause: string }).cause,
  );

describe("after a stall", () => {
  it("nobody is charged for the time, even if a beat that waited is read before the monitor looks at itself", async () => {
    const { monitor, live, beats, advance } = await watch();
    await beats({ agentId: "a", status: "RUNNING", toolCallCount: 5 });
    await live(seconds(10));
    await beats({ agentId: "a", status: "RUNNING", toolCallCount: 6 });
    advance(minutes(40));
    await beats({ agentId: "a", status: "RUNNING", toolCallCount: 6 });
    expect(monitor.agent("a")).toMatchObject({ state: "HEALTHY", findings: [] });
    await live(seconds(5));
    expect(await gaps(monitor)).toEqual(["stall"]);
    expect(monitor.agent("a").state).toBe("HEALTHY");
  });

  it("all of it was a gap, from the last time the monitor looked at itself", async () => {
    const { monitor, live, advance } = await watch();
    await live(seconds(1));
    advance(minutes(5));
    await live(seconds(1));
    expect(monitor.status().monitor.lastGap).toMatchObject({ cause: "stall", lastedSeconds: 300 });
  });

  it("nobody is judged by silence for one TTL, then whoever is still silent is", async () => {
    const { monitor, live, beats, advance, delivered } = await watch();
    await beats({ agentId: "a", status: "RUNNING" });
    advance(minutes(5));
    await live(seconds(16));
    expect(monitor.agent("a").state).toBe("HEALTHY");
    await live(seconds(3));
    expect(monitor.agent("a").state).toBe("UNRESPONSIVE");
    expect(delivered).toEqual(["a/1/missed-beats/1"]);
  });
});

it("a tick of our own that comes late is patience with everybody for a while", async () => {
  const { monitor, live, advance } = await watch();
  await live(seconds(1));
  expect(monitor.status().monitor.lagSeconds).toBe(0);
  advance(seconds(1.5));
  await live(seconds(1));
  expect(monitor.status().monitor.lagSeconds).toBeGreaterThan(1);
  expect(await gaps(monitor)).toEqual([]);
});

describe("a beat of our own", () => {
  const holds = async (monitor: Monitor): Promise<string[]> =>
    (await monitor.events({ types: ["VERDICTS_HELD_BACK", "VERDICTS_RESUMED"], limit: 100 })).map(({ type }) => type);

  it("that does not get through puts everybody on hold, until one TTL after the next that does", async () => {
    const { monitor, live, canary } = await watch();
    let send = (): Promise<void> => Promise.reject(new Error("refused"));
    monitor.sendCanaryBy(() => send());
    await live(seconds(6));
    expect(await holds(monitor)).toEqual(["VERDICTS_HELD_BACK"]);
    send = canary;
    await live(seconds(31));
    expect(await holds(monitor)).toEqual(["VERDICTS_HELD_BACK"]);
    await live(seconds(3));
    expect(await holds(monitor)).toEqual(["VERDICTS_HELD_BACK", "VERDICTS_RESUMED"]);
  });

  it("of which nothing is heard for 15 s is one that did not get through", async () => {
    const { monitor, live } = await watch();
    monitor.sendCanaryBy(() => new Promise(() => undefined));
    await live(seconds(15));
    expect(await holds(monitor)).toEqual([]);
    await live(seconds(1));
    expect(await holds(monitor)).toEqual(["VERDICTS_HELD_BACK"]);
  });

  it("has got through only once it is on disk", async () => {
    const { canary, live, storeBreaks } = await watch();
    await live(seconds(1));
    storeBreaks();
    const sent = expect(canary()).rejects.toMatchObject({ code: "store-unavailable" });
    await live(seconds(1));
    await sent;
  });
});

it("an outage of the store is a gap from its beginning on", async () => {
  const { monitor, live, beats, storeBreaks, storeMends } = await watch();
  storeBreaks();
  await expect(beats({ agentId: "a" })).rejects.toMatchObject({ code: "store-unavailable" });
  await live(minutes(2));
  storeMends();
  await live(seconds(2));
  const lastGap = monitor.status().monitor.lastGap;
  expect(lastGap?.cause).toBe("store-outage");
  expect(lastGap?.lastedSeconds).toBeGreaterThanOrEqual(120);
});

describe("setting the wall clock", () => {
  it("changes nothing but the dates: it is a gap, and nobody is older or younger for it", async () => {
    const { monitor, live, beats, clock } = await watch();
    await beats({ agentId: "a", status: "RUNNING", toolCallCount: 5 });
    await live(seconds(4));
    clock.wall += 400 * 86_400_000;
    await live(seconds(1));
    await beats({ agentId: "a", status: "RUNNING", toolCallCount: 5 });
    expect(await gaps(monitor)).toEqual(["clock-step"]);
    expect(monitor.agent("a")).toMatchObject({ state: "HEALTHY", metrics: { uptimeSeconds: 5 } });
  });

  it("takes no time from anybody: however often it is set, an agent that gets nowhere is found when it is due", async () => {
    const { monitor, live, beats, clock } = await watch();
    await beats({ agentId: "a", status: "RUNNING", lastCheckpoint: "c1" });
    for (let passed = 0; passed < 605; passed += 5) {
      clock.wall += seconds(60);
      await live(seconds(5));
      await beats({ agentId: "a", status: "RUNNING", lastCheckpoint: "c1" });
    }
    expect(monitor.status().monitor.lastGap).toMatchObject({ cause: "clock-step", lastedSeconds: 0 });
    expect(monitor.agent("a").state).toBe("DEGRADED");
  });
});

describe("a restart", () => {
  it("does not make a dead agent well: what silence showed before stands until it is heard", async () => {
    const disk = createMemoryDisk();
    const first = await watch(disk);
    await first.beats({ agentId: "a", status: "RUNNING" });
    await first.live(seconds(20));
    expect(first.monitor.agent("a").state).toBe("UNRESPONSIVE");
    disk.crash();
    const second = await watch(disk, minutes(5));
    await second.live(seconds(60));
    expect(second.monitor.agent("a").state).toBe("UNRESPONSIVE");
    expect(await gaps(second.monitor)).toEqual(["restart"]);
    const ack = await second.beats({ agentId: "a", status: "RUNNING" });
    expect(second.monitor.agent("a").state).toBe("HEALTHY");
    expect(ack?.commands).toMatchObject([{ kind: "check-in" }]);
  });

  it("with shorter clocks judges by them at once: deadlines of the run before are not waited for", async () => {
    const disk = createMemoryDisk();
    const patient = await watch(disk, 0, "default");
    await patient.beats({ agentId: "a", status: "RUNNING" });
    await patient.live(seconds(1));
    disk.crash();
    const quick = await watch(disk, seconds(2), "fleet");
    await quick.live(seconds(25));
    expect(quick.monitor.agent("a").state).toBe("UNRESPONSIVE");
  });
});

describe("a monitor that was replaced", () => {
  it("refuses everybody, judges and does nothing more, says so once, and can be stopped", async () => {
    const disk = createMemoryDisk();
    const { monitor, beats, live, delivered, closed, errors } = await watch(disk);
    await beats({ agentId: "a", status: "RUNNING" });
    expect(disk.epoch).toBe(1);
    disk.epoch += 1; // as another monitor on the same data does
    const [kept, events] = [disk.lastSignalId, disk.lastEventId];
    await expect(beats({ agentId: "a", status: "RUNNING" })).rejects.toMatchObject({ code: "epoch-lost" });
    expect(closed).toEqual(["orchestrator", "holders"]);
    await live(minutes(5));
    await expect(beats({ agentId: "a", status: "RUNNING" })).rejects.toMatchObject({ code: "epoch-lost" });
    expect(monitor.counters().storeDown).toBe(true);
    expect(monitor.agent("a").state).toBe("HEALTHY");
    expect([disk.lastSignalId, disk.lastEventId, delivered]).toEqual([kept, events, []]);
    expect(errors).toEqual([expect.stringMatching(/^this monitor was replaced.*epoch 2.*epoch 1/)]);
    await monitor.stop();
    expect(disk.holder).toBeNull();
  });
});

describe("the stream of beats", () => {
  it("tells of a beat only once it is saved", async () => {
    const { monitor, turn } = await watch();
    const heard: string[] = [];
    monitor.onBeat(({ agentId }) => heard.push(agentId));
    await turn();
    const taken: string[] = [];
    monitor.takeBeats(
      [{ beat: { agentId: "a" } }, { beat: { agentId: 7 } }],
      (acks) => taken.push(...acks.map(({ status }) => status)),
      (error) => expect.fail(String(error)),
    );
    expect(heard).toEqual([]);
    await turn();
    expect(taken).toEqual(["accepted", "rejected"]);
    expect(heard).toEqual(["a"]);
  });
});

describe("what is kept of a beat", () => {
  it("is its text, unless that is long: nobody fills the disk with spaces", async () => {
    const disk = createMemoryDisk();
    const { monitor, turn } = await watch(disk);
    const padded = `{"agentId":"a","note":"kept"${" ".repeat(5000)}}`;
    for (const text of ['{"agentId":"a","note":"kept"}', padded]) {
      monitor.takeBeats(
        [{ beat: JSON.parse(text), text }],
        () => undefined,
        (error) => expect.fail(String(error)),
      );
      await turn();
    }
    const bodies = [...disk.shelves.values()].flatMap(({ signals }) => signals.map(({ body }) => body));
    expect(bodies).toEqual(['{"agentId":"a","note":"kept"}', '{"agentId":"a"}']);
  });
});

it("after a stall of its own it has everybody who is held looked at anew, at once", async () => {
  const { monitor, advance, live, looked } = await watch();
  await live(seconds(2));
  expect(looked.anew).toBe(0);
  advance(seconds(9));
  await live(seconds(1));
  expect(await gaps(monitor)).toContain("stall");
  expect(looked.anew).toBeGreaterThanOrEqual(1);
});

describe("a beat that is played again", () => {
  it("does not show that somebody is heard: an agent beside it that is silent is not judged by it", async () => {
    const { beats, live, monitor } = await watch();
    const recorded = { agentId: "b", sequenceNumber: 1, timestamp: "2026-01-01T00:00:00Z" };
    await beats(recorded);
    await beats({ agentId: "a", sequenceNumber: 1 });
    for (let i = 0; i < 4; i++) {
      await live(seconds(4.5));
      await beats(recorded);
      // Heard more rarely: last before a's second beat was missed, and not missed themselves yet.
      if (i === 1) for (const agentId of ["c", "d"]) await beats({ agentId, status: "IDLE" });
    }
    await live(seconds(1));
    expect(monitor.agent("a").state).toBe("DEGRADED");
  });
});
