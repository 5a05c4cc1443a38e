import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { problem, scriptedRouse, unreachable } from "./scripted-rouse.test-support.ts";

const folders: string[] = [];
function makeHome(): string {
  const folder = mkdtempSync(join(tmpdir(), "rouse-sdk-"));
  folders.push(folder);
  return folder;
}
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const spool = (home: string): string[] => readdirSync(join(home, "unsent", "w", "t")).sort();

describe("what lies among the checkpoints of an earlier life and is none", () => {
  it("keeps none from being saved, and none on disk from being found", async () => {
    const home = makeHome();
    const folder = join(home, "unsent", "w", "t");
    mkdirSync(folder, { recursive: true });
    execFileSync("mkfifo", [join(folder, "000000000001-1.json")]);
    mkdirSync(join(folder, "000000000002-1.json"));
    writeFileSync(join(folder, "000000000003-1.json"), "no json");
    writeFileSync(join(folder, "999999999999-1.json"), '{"step":9,"name":"","state":null}');
    const down = scriptedRouse();
    down.script.instead = () => unreachable;
    const { agent } = down.agent({ task: "t", env: { ROUSE_HOME: home } });
    expect(await agent.checkpoint(1, { n: 1 })).toEqual({ state: "queued", step: 1 });
    await agent.close();
    const up = scriptedRouse();
    up.agent({ task: "t", env: { ROUSE_HOME: home } });
    await up.until(() => up.saved().length === 1);
    expect(up.saved()).toMatchObject([{ step: 1, state: { n: 1 } }]);
  });
});

describe("checkpoints", () => {
  it("are saved in order, one at a time, as they were when they were given", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent({ task: "t" });
    const state = { n: 1 };
    const first = agent.checkpoint(1, state, "one");
    state.n = 2;
    const second = agent.checkpoint(2, state, "two");
    expect(await Promise.all([first, second])).toEqual([
      { state: "saved", step: 1 },
      { state: "saved", step: 2 },
    ]);
    expect(rouse.saved()).toEqual([
      { step: 1, stepName: "one", state: { n: 1 }, agentId: "w" },
      { step: 2, stepName: "two", state: { n: 2 }, agentId: "w" },
    ]);
    await rouse.until(() => rouse.beats().at(-1)?.lastCheckpoint === "step 2");
  });

  it("wait while Rouse cannot take them, and come in order later", async () => {
    const rouse = scriptedRouse();
    let isDown = true;
    rouse.script.instead = ({ path }) =>
      isDown && path.endsWith("/checkpoints") ? problem(503, "store-unavailable") : undefined;
    const { agent } = rouse.agent({ task: "t", breakers: { checkpoint_write: { recoveryTimeout: 300 } } });
    for (let step = 1; step <= 3; step++) expect(await agent.checkpoint(step, step)).toEqual({ state: "queued", step });
    expect(agent.connection().waiting).toBeGreaterThanOrEqual(3);
    await rouse.until(() => agent.breaker("checkpoint_write").state() === "OPEN");
    await rouse.until(() => rouse.beats().some(({ breakers }) => breakers?.[0]?.operation === "checkpoint_write"));
    isDown = false;
    await rouse.until(() => rouse.saved().some(({ step }) => step === 3));
    const steps = rouse.saved().map(({ step }) => step);
    expect(steps).toEqual([...steps].sort());
    expect(agent.breaker("checkpoint_write").state()).toBe("CLOSED");
  });

  it("that cannot be saved are refused before anything is sent", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent({ task: "t" });
    const itself: Record<string, unknown> = {};
    itself["again"] = itself;
    const cases: readonly (readonly [number, unknown, string])[] = [
      [1, itself, "nested deeper than 30 levels"],
      [1, { n: 1n }, "a bigint is not JSON"],
      [1, { at: new Date() }, "an object in it is not a plain one"],
      [1, "x".repeat(16 * 1024 * 1024), "a state has at most 16 MiB"],
      [1, new Array(200_001).fill(1), "more than 200000 values"],
      [1.5, {}, "a step is a whole number"],
      [-1, {}, "a step is a whole number"],
    ];
    for (const [step, state, words] of cases) await expect(agent.checkpoint(step, state)).rejects.toThrow(words);
    expect(rouse.saved()).toEqual([]);
    const { agent: aimless } = rouse.agent({ id: "v" });
    await expect(aimless.checkpoint(1, {})).rejects.toThrow("need a task");
  });

  it("that Rouse refuses for good reject with what it says", async () => {
    const rouse = scriptedRouse();
    rouse.script.instead = ({ path }) =>
      path.endsWith("/checkpoints") ? problem(409, "task-refused", "task t is over") : undefined;
    const { agent } = rouse.agent({ task: "t" });
    await expect(agent.checkpoint(1, {})).rejects.toThrow("task t is over");
    expect(agent.breaker("checkpoint_write").save()).toMatchObject({ failures: [] });
  });

  it("that go back are refused in words that say what their author can do", async () => {
    const rouse = scriptedRouse();
    const said = "step 3 comes before step 5 of the newest checkpoint, c5; to go back, name it as `parent`";
    rouse.script.instead = ({ path, body }) =>
      path.endsWith("/checkpoints") && body.step === 3 ? problem(409, "checkpoint-refused", said) : undefined;
    const { agent } = rouse.agent({ task: "t" });
    await agent.checkpoint(5, {});
    await expect(agent.checkpoint(3, {})).rejects.toMatchObject({
      code: "checkpoint-refused",
      message:
        "step 3 comes before step 5, which is saved already: give it number 5 or a higher one, or, to begin anew, the agent another task",
    });
  });

  it("are never given up: when too many wait, the next is refused aloud", async () => {
    const rouse = scriptedRouse();
    rouse.script.instead = () => unreachable;
    const { agent, warnings } = rouse.agent({ task: "t" });
    for (let step = 1; step <= 1000; step++) expect((await agent.checkpoint(step, {})).state).toBe("queued");
    await expect(agent.checkpoint(1001, {})).rejects.toThrow("1000 checkpoints wait because Rouse cannot take them");
    expect(warnings.filter((text) => text.includes("1000 checkpoints wait"))).toHaveLength(1);
    expect(agent.connection()).toMatchObject({ waiting: 1000, dropped: 0 });
  });

  it("name what the first of a life that was brought back goes on from", async () => {
    const rouse = scriptedRouse();
    const recovery = {
      taskId: "t",
      checkpoint: "c".repeat(64),
      step: 4,
      stepName: "x",
      reason: "r",
      attempt: 1,
      lost: { checkpoints: 1, steps: 1, flaws: [], startsOver: false },
    };
    const { agent } = rouse.agent({ task: "t", env: { ROUSE_RECOVERY: JSON.stringify(recovery) } });
    await agent.checkpoint(5, {});
    await agent.checkpoint(6, {});
    expect(rouse.saved().map(({ parent }) => parent)).toEqual(["c".repeat(64), undefined]);
  });

  it("of more than 64 MiB wait for nobody: the next is refused aloud, and there is room again once they are saved", async () => {
    const rouse = scriptedRouse();
    let isDown = true;
    rouse.script.instead = ({ path }) => (isDown && path.endsWith("/checkpoints") ? unreachable : undefined);
    const { agent } = rouse.agent({ task: "t" });
    const large = "x".repeat(15 * 1024 * 1024);
    for (let step = 1; step <= 4; step++) expect((await agent.checkpoint(step, large)).state).toBe("queued");
    await expect(agent.checkpoint(5, large)).rejects.toThrow("4 checkpoints wait because Rouse cannot take them");
    isDown = false;
    await rouse.until(() => agent.connection().state === "connected" && agent.connection().waiting === 0);
    expect(await agent.checkpoint(5, large)).toEqual({ state: "saved", step: 5 });
  });

  it("are tried once more through an open breaker when the agent finishes: there is no later", async () => {
    const rouse = scriptedRouse();
    let isDown = true;
    rouse.script.instead = ({ path }) => (isDown && path.endsWith("/checkpoints") ? unreachable : undefined);
    const { agent } = rouse.agent({
      task: "t",
      breakers: { checkpoint_write: { failureThreshold: 1, recoveryTimeout: 3_600_000 } },
    });
    await agent.checkpoint(1, {});
    await rouse.until(() => agent.breaker("checkpoint_write").state() === "OPEN");
    isDown = false;
    const tried = rouse.saved().length;
    await agent.checkpoint(2, {});
    expect(rouse.saved()).toHaveLength(tried);
    await agent.finish();
    expect(
      rouse
        .saved()
        .slice(tried)
        .map(({ step }) => step),
    ).toEqual([1, 2]);
    expect(agent.connection().waiting).toBe(0);
  });
});

describe("checkpoints on disk", () => {
  it("outlive the agent that could not send them: its next life sends them first, and only its owner can read them", async () => {
    const home = makeHome();
    const rouse = scriptedRouse();
    let isDown = true;
    rouse.script.instead = ({ path }) => (isDown && path.endsWith("/checkpoints") ? unreachable : undefined);
    const { agent } = rouse.agent({ task: "t", env: { ROUSE_HOME: home } });
    await agent.checkpoint(1, { a: 1 }, "one");
    await agent.checkpoint(2, { a: 2 }, "two");
    const files = spool(home);
    expect(files).toHaveLength(2);
    const folder = join(home, "unsent", "w", "t");
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const file of files) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(join(folder, files[0] ?? ""), "utf8"))).toEqual({
      step: 1,
      name: "one",
      state: { a: 1 },
    });
    await agent.close();

    isDown = false;
    const later = scriptedRouse();
    const next = later.agent({ task: "t", env: { ROUSE_HOME: home } }).agent;
    await next.checkpoint(3, { a: 3 }, "three");
    expect(later.saved().map(({ step, stepName, state }) => [step, stepName, state])).toEqual([
      [1, "one", { a: 1 }],
      [2, "two", { a: 2 }],
      [3, "three", { a: 3 }],
    ]);
    expect(spool(home)).toEqual([]);
  });

  it("lie where Rouse has told the agent, whatever data folder it would find by itself", async () => {
    const [own, told] = [makeHome(), makeHome()];
    const rouse = scriptedRouse();
    rouse.script.instead = ({ path }) => (path.endsWith("/checkpoints") ? unreachable : undefined);
    const env = { ROUSE_HOME: own, ROUSE_UNSENT: join(told, "unsent") };
    expect(await rouse.agent({ task: "t", env }).agent.checkpoint(1, {})).toEqual({ state: "queued", step: 1 });
    expect(spool(told)).toHaveLength(1);
    expect(readdirSync(own)).toEqual([]);
  });

  it("that are half written or not ours are left alone", async () => {
    const home = makeHome();
    const folder = join(home, "unsent", "w", "t");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "000000000001-1.json"), '{"step":1,"name":"a","sta');
    writeFileSync(join(folder, "000000000002-1.json.unfinished"), "x");
    writeFileSync(join(folder, "000000000003-1.json"), '{"step":3,"name":"c","state":null}');
    const rouse = scriptedRouse();
    const { agent } = rouse.agent({ task: "t", env: { ROUSE_HOME: home } });
    await agent.checkpoint(4, {});
    expect(rouse.saved().map(({ step }) => step)).toEqual([3, 4]);
  });

  it("that cannot be kept on disk wait in memory, which is said once", async () => {
    const home = makeHome();
    writeFileSync(join(home, "unsent"), "in the way");
    const rouse = scriptedRouse();
    let isDown = true;
    rouse.script.instead = ({ path }) => (isDown && path.endsWith("/checkpoints") ? unreachable : undefined);
    const { agent, warnings } = rouse.agent({ task: "t", env: { ROUSE_HOME: home } });
    expect((await agent.checkpoint(1, {})).state).toBe("queued");
    expect((await agent.checkpoint(2, {})).state).toBe("queued");
    expect(warnings.filter((text) => text.includes("wait in memory only"))).toHaveLength(1);
    isDown = false;
    await rouse.until(() => agent.connection().waiting === 0 && rouse.saved().some(({ step }) => step === 2));
  });

  it("of an earlier life that Rouse does not want stop nobody, and only a loss is told", async () => {
    const home = makeHome();
    const folder = join(home, "unsent", "w", "t");
    mkdirSync(folder, { recursive: true });
    for (const step of [1, 2])
      writeFileSync(join(folder, `00000000000${step}-1.json`), `{"step":${step},"name":"","state":null}`);
    const rouse = scriptedRouse();
    rouse.script.instead = ({ path, body }) => {
      if (!path.endsWith("/checkpoints") || body.step > 2) return undefined;
      return body.step === 1
        ? problem(409, "checkpoint-refused", "older than what is saved")
        : problem(409, "task-refused", "not yours");
    };
    const { agent, warnings } = rouse.agent({ task: "t", env: { ROUSE_HOME: home } });
    expect(await agent.checkpoint(3, {})).toEqual({ state: "saved", step: 3 });
    expect(warnings).toEqual([expect.stringContaining("step 2 was not taken: not yours")]);
  });
});
