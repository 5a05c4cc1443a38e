import { Fault, type HolderReport, minutes, seconds } from "@rouse/contract";
import type { Action } from "@rouse/core";
import { describe, expect, it } from "vitest";
import { openMemoryStates } from "../adapters/states-memory/open-memory-states.ts";
import { createMemoryDisk } from "../adapters/store-memory/memory-disk.ts";
import { openMemoryStore } from "../adapters/store-memory/open-memory-store.ts";
import { readConfig, requireConfig } from "../config/read-config.ts";
import { handWoundTimers } from "../engine/hand-wound-timers.test-support.ts";
import { handsOff } from "../hands-off.test-support.ts";
import { startMonitor } from "../monitor.ts";
import { type HolderNews, type Holders, noHolders, type Quota, type StopRequest } from "../ports/holders.ts";
import type { States } from "../ports/states.ts";
import type { Commit } from "../ports/store.ts";
import { noWorkspaces, type SnapshotOutcome, type SnapshotRequest } from "../ports/workspaces.ts";

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const failing = { agentId: "a", status: "RUNNING", healthMetrics: { consecutiveFailures: 9 } };
const well = { agentId: "a", status: "RUNNING", healthMetrics: { consecutiveFailures: 0 } };

interface Given {
  readonly hands?: Partial<Holders>;
  readonly config?: string;
  readonly disk?: ReturnType<typeof createMemoryDisk>;
  readonly at?: number;
  /** How saving its work goes. */
  readonly save?: () => Promise<SnapshotOutcome>;
  readonly states?: States;
}

/** A whole monitor and the hands of a held agent, on a clock and a disk that the story moves. */
async function world(given: Given = {}) {
  const { hands = {}, config = "preset: default", disk = createMemoryDisk(), at = 0, save } = given;
  const time = handWoundTimers();
  const clock = { mono: at, boot: at, wall: Date.UTC(2026, 0, 1) + at };
  const inner = await openMemoryStore(disk);
  const store = { refuses: (_: Commit): boolean => false, delay: null as Promise<void> | null };
  const stops: StopRequest[] = [];
  const saves: SnapshotRequest[] = [];
  let news: HolderNews | null = null;
  const monitor = await startMonitor({
    ...handsOff,
    holders: {
      ...noHolders,
      async begin(to) {
        news = to;
      },
      folderOf: () => "/work/a",
      async stop(request) {
        stops.push(request);
        return { kind: "stopped", forced: false, processes: 1 };
      },
      ...hands,
    },
    workspaces: {
      ...noWorkspaces,
      snapshot(request) {
        saves.push(request);
        return save?.() ?? noWorkspaces.snapshot(request);
      },
    },
    store: {
      ...inner,
      async commit(commit) {
        if (store.refuses(commit)) throw new Fault("store-unavailable", "the disk is full", { retryable: true });
        if (store.delay !== null) await store.delay;
        await inner.commit(commit);
      },
    },
    clock: { mono: () => clock.mono, wall: () => clock.wall, read: () => ({ ...clock }) },
    timers: time.timers,
    states: given.states ?? handsOff.states,
    alerts: { deliver: async () => {} },
    log: silent,
    config: requireConfig(readConfig({ file: { name: "test", text: config } })),
    version: "test",
  });

  let seq = 0;
  let incarnation = 1;
  function reports(over: Partial<HolderReport> = {}): void {
    const process = { processes: 1, cpuMs: 100, ioBytes: 1000, memoryBytes: 1 };
    const rest = { process, attached: 0, fullScreen: false, outputKept: true, exit: null };
    const report = { seq: seq + 1, at: clock.wall, sights: [], output: { bytes: 0, rows: 0, lastAt: null }, ...rest };
    seq += 1;
    // What could not be taken is told again under the same number.
    news?.reported("a", incarnation, { ...report, ...over }).catch(() => {
      seq -= 1;
    });
  }

  /** Time passes; its holder gives a sign of life every ten seconds. */
  async function live(duration: number): Promise<void> {
    for (let passed = 0; passed < duration; passed += 250) {
      clock.mono += 250;
      clock.boot += 250;
      clock.wall += 250;
      await time.pass(250);
      await time.turn();
      if (passed % 10_000 === 0 && seq > 0) reports();
      await time.turn();
    }
  }

  async function asked<T>(answer: Promise<T>): Promise<T> {
    for (let i = 0; i < 3; i++) await time.turn();
    return answer;
  }

  // Holders are listened to once the monitor's epoch is saved.
  await live(seconds(1));
  return {
    monitor,
    stops,
    saves,
    store,
    disk,
    clock,
    live,
    reports,
    isHeld(input: "none" | "stdin" = "none", life = 1): void {
      incarnation = life;
      seq = 0;
      const whoIs = { agentId: "a", agentType: null, taskId: null, policy: null, incarnation, pid: 4242 };
      const how = { family: "generic", structured: false, foreground: false, startedAt: clock.wall } as const;
      void news?.held({ ...whoIs, ...how, input }, false);
      reports();
    },
    async beats(beat: object): Promise<string> {
      const taken = new Promise<string>((resolve) =>
        monitor.takeBeats(
          [{ beat }],
          ([ack]) => resolve(ack?.status ?? "nothing"),
          (error) => resolve((error as Fault).code),
        ),
      );
      return asked(taken);
    },
    /** The commit with the next order to stop takes until what this returns is called. */
    orderIsHeldUp(): () => void {
      let goOn: (() => void) | null = null;
      store.refuses = (commit) => {
        if (intends("stop-agent")(commit)) store.delay = new Promise((resolve) => (goOn = resolve));
        return false;
      };
      return () => {
        expect(goOn).not.toBeNull();
        store.refuses = () => false;
        store.delay = null;
        goOn?.();
      };
    },
    freeze: () => asked(monitor.freeze("anna", "keep still")),
    thaw: () => asked(monitor.thaw("anna", "go on")),
    async told(type: "TERMINATION_REFUSED" | "HEALTH_STATE_CHANGED" | "WORK_NOT_SAVED"): Promise<object[]> {
      return (await monitor.events({ types: [type], limit: 100 })).map(({ payload }) => payload);
    },
  };
}

const intends =
  (kind: Action["kind"]) =>
  ({ actions }: Commit): boolean =>
    actions.some(({ body }) => (JSON.parse(body) as Action).kind === kind);

describe("a stop of our own", () => {
  it("is carried out when nothing stands between, also with the last of the budget", async () => {
    const config = "preset: default\nhealth_monitoring: { budgets: { host_burst: 1, fleet_kills: 1 } }";
    const { live, isHeld, beats, stops } = await world({ config });
    isHeld();
    await live(minutes(5));
    await beats(failing);
    await live(seconds(2));
    expect(stops).toMatchObject([{ agentId: "a", incarnation: 1, unlessAttached: true }]);
  });

  it("that could not be saved for long is not carried out when the store is back: it is decided anew, and we were blind", async () => {
    const { live, isHeld, beats, stops, store, told } = await world();
    isHeld();
    await live(minutes(5));
    store.refuses = intends("stop-agent");
    await beats(failing);
    await live(minutes(20));
    expect(await beats(well)).toBe("store-unavailable");
    store.refuses = () => false;
    await live(seconds(5));
    expect(stops).toEqual([]);
    expect(await told("TERMINATION_REFUSED")).toMatchObject([{ because: "monitor-in-doubt" }]);
    await beats(well);
    await live(minutes(2));
    expect(stops).toEqual([]);
  });

  it("whose saving took so long that the agent is well again is not carried out", async () => {
    const { live, isHeld, beats, stops, orderIsHeldUp, monitor } = await world();
    isHeld();
    await live(minutes(5));
    const goesOn = orderIsHeldUp();
    await beats(failing);
    await live(seconds(2));
    void beats(well);
    await live(minutes(10));
    expect(monitor.agent("a")?.state).toBe("HEALTHY");
    goesOn();
    await live(seconds(5));
    expect(stops).toEqual([]);
  });

  it("whose saving took so long that half of what spoke against the agent is gone is not carried out", async () => {
    const { live, isHeld, beats, reports, stops, orderIsHeldUp } = await world();
    isHeld();
    await live(minutes(5));
    const goesOn = orderIsHeldUp();
    await beats(failing);
    await live(seconds(2));
    // Its processes are at work again; that it fails is all there is now.
    for (let cpuMs = 5000; cpuMs < 60_000; cpuMs += 5000) {
      reports({ process: { processes: 1, cpuMs, ioBytes: cpuMs, memoryBytes: 1 } });
      await live(seconds(5));
    }
    goesOn();
    await live(seconds(1));
    expect(stops).toEqual([]);
  });

  it("is not carried out when its agent lives anew meanwhile, however ill that one is", async () => {
    const { live, isHeld, beats, stops, orderIsHeldUp } = await world();
    isHeld();
    await live(minutes(5));
    const goesOn = orderIsHeldUp();
    await beats(failing);
    await live(seconds(2));
    isHeld("none", 2);
    await live(minutes(5));
    void beats(failing);
    await live(seconds(1));
    goesOn();
    await live(seconds(5));
    expect(stops).toMatchObject([{ incarnation: 2 }]);
  });

  it("that somebody decided needs their word and one kind of evidence, also at the last look", async () => {
    const { live, isHeld, stops, reports, monitor } = await world();
    isHeld();
    reports({ sights: [{ kind: "output", rows: 1, novel: 1 }] });
    await live(minutes(20));
    const [question] = monitor.help.words.escalations();
    const word = { decision: "terminate_and_recover", actor: "anna", reason: "nothing comes of it" } as const;
    void monitor.help.words.decide(question?.id ?? "none", word);
    await live(seconds(2));
    expect(stops).toMatchObject([{ agentId: "a", incarnation: 1 }]);
  });

  it("does not come of an answer that the hands give while the store is down, and nobody is judged by it", async () => {
    let saved: (outcome: SnapshotOutcome) => void = () => undefined;
    const save = () => new Promise<SnapshotOutcome>((resolve) => (saved = resolve));
    const { live, isHeld, beats, stops, store, told } = await world({ save });
    isHeld();
    await live(minutes(5));
    await beats(failing);
    await live(seconds(2));
    store.refuses = () => true;
    await live(minutes(20));
    saved({ kind: "nothing-to-save", because: "no-repository" });
    await live(minutes(1));
    store.refuses = () => false;
    await live(seconds(5));
    expect(stops).toEqual([]);
    expect(await told("TERMINATION_REFUSED")).toMatchObject([{ because: "monitor-in-doubt" }]);
    expect((await told("HEALTH_STATE_CHANGED")).map((change) => (change as { to: string }).to)).not.toContain(
      "UNRESPONSIVE",
    );
  });
});

describe("a nudge that waits at its holder", () => {
  it("is withdrawn there, also in a freeze, by the same key with a time that is over", async () => {
    const heard: string[] = [];
    const { live, isHeld, reports, freeze, clock } = await world({
      hands: {
        nudge({ key, notAfter }) {
          heard.push(`${key} ${clock.wall > notAfter ? "withdrawn" : "given"}`);
          return clock.wall > notAfter
            ? Promise.resolve({ kind: "not-sent", because: "expired" })
            : new Promise(() => {});
        },
      },
    });
    isHeld("stdin");
    reports({ sights: [{ kind: "output", rows: 1, novel: 1 }] });
    await live(minutes(17));
    expect(heard).toEqual(["a/1/nudge/1 given"]);
    await freeze();
    for (let i = 0; i < 3; i++) {
      reports({ sights: [{ kind: "output", rows: 5, novel: 5 }] });
      await live(seconds(10));
    }
    expect(heard).toEqual(["a/1/nudge/1 given", "a/1/nudge/1 withdrawn"]);
  });
});

describe("an agent that ended at its limit", () => {
  /** Its limit is over, and what its program says of it. */
  async function atItsLimit(quotas: Quota[], given: Given = {}) {
    const started: number[] = [];
    const asked: number[] = [];
    const held = await world({
      ...given,
      hands: {
        async quotaOf(_, after) {
          asked.push(after);
          return quotas.shift() ?? { kind: "free" };
        },
        async startAgain(_, after) {
          started.push(after + 1);
          return { incarnation: after + 1, recovery: null };
        },
      },
    });
    return { ...held, started, asked };
  }

  const limit = { kind: "rate-limited", pattern: "p", resetsInMs: minutes(10), by: "stream", what: "usage" } as const;
  const ended: Partial<HolderReport> = { sights: [limit], exit: { code: 1, signal: null, cause: "by-itself" } };
  const usedUp = (more: number): Quota => ({ kind: "used-up", resetsInMs: minutes(more) });

  it("is not started while its program says that the limit stands, and is after the reset that it names then", async () => {
    const { isHeld, live, reports, asked, started } = await atItsLimit([usedUp(20)]);
    isHeld();
    reports(ended);
    await live(minutes(12));
    expect([asked, started]).toEqual([[1], []]);
    await live(minutes(17));
    expect([asked, started]).toEqual([[1], []]);
    await live(minutes(4));
    expect([asked, started]).toEqual([[1, 1], [2]]);
  });

  it("waits for that reset also when the monitor is started again", async () => {
    const before = await atItsLimit([usedUp(60)]);
    before.isHeld();
    before.reports(ended);
    await before.live(minutes(12));
    // It was killed: nobody gave the disk back.
    before.disk.holder = null;
    const after = await atItsLimit([], { disk: before.disk, at: before.clock.mono + seconds(60) });
    await after.live(minutes(50));
    expect([after.asked, after.started]).toEqual([[], []]);
    await after.live(minutes(9));
    expect([after.asked, after.started]).toEqual([[1], [2]]);
  });

  it("is started when nothing can be learnt about it", async () => {
    const { isHeld, live, reports, started } = await atItsLimit([{ kind: "unknown", because: "no-answer" }]);
    isHeld();
    reports(ended);
    await live(minutes(12));
    expect(started).toEqual([2]);
  });

  it("is asked only where it ended at one", async () => {
    const { isHeld, live, reports, asked, started } = await atItsLimit([usedUp(20)]);
    isHeld();
    await live(minutes(1));
    reports({ exit: { code: 1, signal: null, cause: "by-itself" } });
    await live(minutes(1));
    expect([asked, started]).toEqual([[], [2]]);
  });
});

describe("in a freeze", () => {
  it("a nudge that could not be given before is not given either, nor after it, when its time is over", async () => {
    const tries: string[] = [];
    let first = "";
    let reachable = false;
    const { live, isHeld, freeze, thaw, reports, clock } = await world({
      hands: {
        async nudge({ key, notAfter }) {
          if (first === "") first = key;
          if (key !== first) return { kind: "sent", channel: "stdin", echoed: false };
          tries.push(reachable ? (clock.wall > notAfter ? "too late" : "in time") : "in vain");
          if (!reachable) throw new Fault("holder-unreachable", "busy", { retryable: true });
          return { kind: "not-sent", because: "expired" };
        },
      },
    });
    isHeld("stdin");
    reports({ sights: [{ kind: "output", rows: 1, novel: 1 }] });
    await live(minutes(17));
    expect(tries).toContain("in vain");
    await freeze();
    reachable = true;
    await live(minutes(15));
    expect(tries.filter((how) => how !== "in vain")).toEqual([]);
    await thaw();
    await live(seconds(1));
    expect(tries.filter((how) => how !== "in vain")).toEqual(["too late"]);
  });

  it("nobody is started again, also not by a monitor that finds the order when it comes; after it, they are", async () => {
    const before = await world({ hands: { startAgain: () => new Promise(() => {}) } });
    before.isHeld();
    await before.live(minutes(1));
    before.reports({ exit: { code: 1, signal: null, cause: "by-itself" } });
    await before.live(seconds(1));
    await before.freeze();
    // It was killed: nobody gave the disk back.
    before.disk.holder = null;
    const started: number[] = [];
    const { live, thaw } = await world({
      disk: before.disk,
      at: before.clock.mono + seconds(60),
      hands: {
        async startAgain(_, after) {
          started.push(after + 1);
          return { incarnation: after + 1, recovery: null };
        },
      },
    });
    await live(minutes(5));
    expect(started).toEqual([]);
    await thaw();
    await live(seconds(1));
    expect(started).toEqual([2]);
  });

  it("that begins while its program is asked, nobody is started, and what it goes on with is looked for after it", async () => {
    const started: (number | null)[] = [];
    const answers: ((quota: Quota) => void)[] = [];
    const { isHeld, beats, live, reports, freeze, thaw, monitor } = await world({
      hands: {
        quotaOf: () => new Promise((resolve) => answers.push(resolve)),
        async startAgain(_, after, revival) {
          started.push(revival?.context.step ?? null);
          return { incarnation: after + 1, recovery: null };
        },
      },
    });
    const saves = (step: number) =>
      void monitor.help.checkpoints.save("t", { step }, { agentId: null, incarnation: null });
    isHeld();
    await beats({ agentId: "a", taskId: "t" });
    saves(1);
    await live(seconds(1));
    const limit = { kind: "rate-limited", pattern: "p", resetsInMs: minutes(1), by: "stream", what: "usage" } as const;
    reports({ sights: [limit], exit: { code: 1, signal: null, cause: "by-itself" } });
    await live(minutes(2));
    expect(answers).toHaveLength(1);
    await freeze();
    answers[0]?.({ kind: "free" });
    await live(seconds(30));
    saves(2);
    await live(seconds(30));
    expect(started).toEqual([]);
    await thaw();
    await live(seconds(1));
    expect(started).toEqual([2]);
  });

  it("no program is asked about its limit either", async () => {
    const before = await world({ hands: { quotaOf: () => new Promise(() => {}) } });
    before.isHeld();
    const limit = { kind: "rate-limited", pattern: "p", resetsInMs: minutes(1), by: "stream", what: "usage" } as const;
    before.reports({ sights: [limit], exit: { code: 1, signal: null, cause: "by-itself" } });
    await before.live(minutes(2));
    await before.freeze();
    before.disk.holder = null;
    const asked: number[] = [];
    const { live, thaw } = await world({
      disk: before.disk,
      at: before.clock.mono + seconds(60),
      hands: {
        async quotaOf(_, after) {
          asked.push(after);
          return { kind: "free" };
        },
      },
    });
    await live(minutes(5));
    expect(asked).toEqual([]);
    await thaw();
    await live(seconds(1));
    expect(asked).toEqual([1]);
  });

  it("that begins while what it was doing is read, nobody is started", async () => {
    const started: number[] = [];
    let read: () => void = () => undefined;
    const inner = openMemoryStates();
    const states: States = {
      ...inner,
      async get(hash) {
        await new Promise<void>((resolve) => (read = resolve));
        return inner.get(hash);
      },
    };
    const { isHeld, beats, live, reports, freeze, thaw, monitor } = await world({
      states,
      hands: {
        async startAgain(_, after) {
          started.push(after + 1);
          return { incarnation: after + 1, recovery: null };
        },
      },
    });
    isHeld();
    await beats({ agentId: "a", taskId: "t" });
    const large = { step: 1, state: { notes: "x".repeat(100_000) } };
    void monitor.help.checkpoints.save("t", large, { agentId: null, incarnation: null });
    await live(minutes(1));
    reports({ exit: { code: 1, signal: null, cause: "by-itself" } });
    await live(seconds(1));
    await freeze();
    read();
    await live(seconds(30));
    expect(started).toEqual([]);
    await thaw();
    await live(seconds(1));
    expect(started).toEqual([2]);
  });

  it("what there is to go on with is looked for after it, because it may have changed meanwhile", async () => {
    const before = await world({ hands: { startAgain: () => new Promise(() => {}) } });
    const nobody = { agentId: null, incarnation: null };
    before.isHeld();
    await before.beats({ agentId: "a", taskId: "t" });
    void before.monitor.help.checkpoints.save("t", { step: 1 }, nobody);
    await before.live(minutes(1));
    before.reports({ exit: { code: 1, signal: null, cause: "by-itself" } });
    await before.live(seconds(1));
    await before.freeze();
    before.disk.holder = null;
    const steps: (number | null)[] = [];
    const { live, thaw, monitor } = await world({
      disk: before.disk,
      at: before.clock.mono + seconds(60),
      hands: {
        async startAgain(_, after, revival) {
          steps.push(revival?.context.step ?? null);
          return { incarnation: after + 1, recovery: null };
        },
      },
    });
    await live(minutes(1));
    void monitor.help.checkpoints.save("t", { step: 2 }, nobody);
    await live(minutes(1));
    expect(steps).toEqual([]);
    await thaw();
    await live(seconds(1));
    expect(steps).toEqual([2]);
  });

  it("an order to stop that could not be given before waits", async () => {
    let reachable = false;
    const stopped: string[] = [];
    const { live, isHeld, freeze, thaw, monitor } = await world({
      hands: {
        async stop({ key, unlessAttached }) {
          if (!reachable) throw new Fault("holder-unreachable", "busy", { retryable: true });
          stopped.push(`${key.split("/")[1]} ${unlessAttached}`);
          return { kind: "stopped", forced: false, processes: 1 };
        },
      },
    });
    isHeld();
    await live(minutes(1));
    void monitor.terminate("a", { actor: "anna", reason: "enough", force: false });
    await live(seconds(2));
    await freeze();
    reachable = true;
    await live(minutes(5));
    expect(stopped).toEqual([]);
    await thaw();
    await live(seconds(1));
    // A person's own word: that somebody is attached does not matter to it.
    expect(stopped).toEqual(["stop false"]);
  });
});

describe("an agent that is down", () => {
  /**
   * The run before is killed while an agent is down; somebody says by hand, so long before or after that, that it is
   * to stay so.
   */
  async function keptDown(said: number, frozen: boolean, startAgain: Holders["startAgain"]) {
    const before = await world({ hands: { startAgain } });
    before.isHeld();
    await before.live(minutes(1));
    before.reports({ exit: { code: 1, signal: null, cause: "by-itself" } });
    await before.live(seconds(10));
    if (frozen) await before.freeze();
    before.disk.holder = null;
    const started: number[] = [];
    const after = await world({
      disk: before.disk,
      at: before.clock.mono + minutes(5),
      hands: {
        keptDownAt: (_, incarnation) => (incarnation === 1 ? before.clock.wall + said : null),
        async startAgain(_, life) {
          started.push(life + 1);
          return { incarnation: life + 1, recovery: null };
        },
      },
    });
    if (frozen) await after.thaw();
    await after.live(minutes(5));
    return { ...after, started };
  }

  const neverAnswers = () => new Promise<never>(() => {});
  const fails = async () => ({ problem: "its command is not there" });

  it.each([
    ["was ordered to start", false, neverAnswers],
    ["waits to be started once more", false, fails],
    ["was ordered to start, in a freeze", true, neverAnswers],
  ])("%s is not started where a person kept it down while nobody ran", async (_, frozen, startAgain) => {
    const { monitor, started, disk } = await keptDown(minutes(1), frozen, startAgain);
    expect(started).toEqual([]);
    expect(monitor.agent("a")).toMatchObject({ state: "TERMINATED", over: { how: "terminated" } });
    expect(await monitor.events({ types: ["RESTART_CANCELLED"], limit: 10 })).toHaveLength(1);
    expect([...disk.actions.values()].map(({ key }) => key)).toEqual([]);
  });

  it("is started where that was said before the run that ordered it", async () => {
    expect((await keptDown(-minutes(10), false, neverAnswers)).started).toContain(2);
  });
});

describe("saving the work", () => {
  it("may take as long as the policy says", async () => {
    const { live, isHeld, beats, saves } = await world({
      config: "preset: default\nhealth_monitoring: { intervention: { termination: { cleanup_timeout_seconds: 90 } } }",
    });
    isHeld();
    await live(minutes(5));
    await beats(failing);
    await live(seconds(2));
    expect(saves).toMatchObject([{ agentId: "a", folder: "/work/a", within: seconds(90) }]);
  });

  it("fails when nobody knows in which folder it works, and it is not stopped", async () => {
    const { live, isHeld, beats, stops, told } = await world({ hands: { folderOf: () => null } });
    isHeld();
    await live(minutes(5));
    await beats(failing);
    await live(seconds(2));
    expect(stops).toEqual([]);
    expect(await told("WORK_NOT_SAVED")).toMatchObject([{ problem: "nobody knows which folder it works in" }]);
    expect(await told("TERMINATION_REFUSED")).toMatchObject([{ because: "work-not-saved" }]);
  });
});

describe("an order to hold an agent back", () => {
  const config = `
preset: default
health_monitoring:
  mode: assist
  intervention: { nudge: { enabled: false }, escalation: { timeout_seconds: 60 } }
`;

  /** The same failing call every four seconds. */
  async function loops({ live, monitor }: Awaited<ReturnType<typeof world>>, times: number): Promise<void> {
    for (let n = 0; n < times; n++) {
      const same = { tool: "Bash", args_digest: "same", text_digest: "same", text_class: "same" };
      void monitor.takeSteps(
        "a",
        [
          { kind: "tool_call", ...same },
          { kind: "tool_result", failed: true, ...same },
        ],
        1,
      );
      await live(seconds(4));
    }
  }

  /** In circles until somebody was to hold it back. `out`: its holder cannot be reached. */
  async function burning(out = { ofReach: false }) {
    const contained: string[] = [];
    const hands: Partial<Holders> = {
      async contain({ how }) {
        if (how !== "let-go" && out.ofReach) throw new Error("unreachable");
        contained.push(how);
        return how === "let-go" ? { kind: "let-go" } : { kind: "contained" };
      },
    };
    const story = await world({ config, hands });
    story.isHeld();
    await loops(story, 30);
    const speaks = async (): Promise<void> => {
      void story.monitor.help.words.nudge("a", "owner", "try the other branch");
      await story.live(seconds(1));
    };
    return { ...story, contained, speaks };
  }

  it("comes to its holder, and another one when a person speaks to it", async () => {
    const { contained, speaks } = await burning();
    expect(contained).toEqual(["pause"]);
    await speaks();
    expect(contained).toEqual(["pause", "let-go"]);
  });

  it("that could not be given before waits for the end of a freeze", async () => {
    const out = { ofReach: true };
    const { contained, live, freeze, thaw } = await burning(out);
    await freeze();
    out.ofReach = false;
    await live(minutes(2));
    expect(contained).toEqual([]);
    await thaw();
    await live(minutes(2));
    expect(contained).toEqual(["pause"]);
  });

  it("is not carried out any more for one that was let go meanwhile", async () => {
    const out = { ofReach: true };
    const { contained, live, speaks } = await burning(out);
    await speaks();
    expect(contained).toEqual(["let-go"]);
    out.ofReach = false;
    await live(minutes(2));
    expect(contained).toEqual(["let-go"]);
  });
});
