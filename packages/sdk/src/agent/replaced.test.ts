import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ReplacedError } from "./link.ts";
import { ackOf, type ScriptedRouse, scriptedRouse, unreachable } from "./scripted-rouse.test-support.ts";

function makeHome(): string {
  const folder = mkdtempSync(join(tmpdir(), "rouse-sdk-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function spoolOf(home: string): { readonly folder: string; names(): readonly string[] } {
  const folder = join(home, "unsent", "w", "t");
  mkdirSync(folder, { recursive: true });
  return { folder, names: () => readdirSync(folder) };
}

/** From now on a later life speaks, and checkpoints cannot be sent. */
function replace({ script }: ScriptedRouse): void {
  script.instead = ({ path, body }) => {
    if (path.endsWith("/checkpoints")) return unreachable;
    return path === "/api/v1/heartbeats"
      ? { status: 409, body: { ...ackOf(body, [], "rejected"), because: "old-incarnation" } }
      : undefined;
  };
}

describe("a process that was replaced", () => {
  it("begins no further step, and keeps no checkpoint of the one that it was at", async () => {
    const [rouse, home] = [scriptedRouse(), makeHome()];
    const spool = spoolOf(home);
    const { agent } = rouse.agent({ task: "t", env: { ROUSE_HOME: home } });
    const ran: string[] = [];
    const step = (name: string, until = async () => {}) => ({
      name,
      run() {
        ran.push(name);
        return until();
      },
    });
    const replaced = async (): Promise<void> => {
      replace(rouse);
      await rouse.until(() => agent.signal.aborted);
    };
    const list = [step("a"), step("b", replaced), step("c")];
    await expect(agent.steps<unknown>(list, {})).rejects.toThrow(ReplacedError);
    expect(ran).toEqual(["a", "b"]);
    await expect(agent.steps<unknown>(list, {})).rejects.toThrow("a later life of it has begun");
    await expect(agent.checkpoint(2, {})).rejects.toThrow(
      "the checkpoint of step 2 is not kept: This process of w was replaced",
    );
    expect(spool.names()).toEqual([]);
    expect(rouse.saved().map(({ step }) => step)).toEqual([0, 1]);
  });

  it("begins none when it is told while it asks where to go on", async () => {
    const rouse = scriptedRouse();
    rouse.script.chain = [{ id: "c1", step: 1, stepName: "a", state: {} }];
    const { agent } = rouse.agent({ task: "t" });
    rouse.script.instead = async (asked) => {
      if (!asked.path.endsWith("/c1")) return undefined;
      replace(rouse);
      await rouse.until(() => agent.signal.aborted);
      return undefined;
    };
    const ran: string[] = [];
    const list = ["a", "b"].map((name) => ({ name, run: () => ran.push(name) }));
    await expect(agent.steps<unknown>(list, {})).rejects.toThrow("step 2 (b) is not begun");
    expect(ran).toEqual([]);
  });

  it("tells whoever waits for a checkpoint that it is not kept", async () => {
    const [rouse, home] = [scriptedRouse(), makeHome()];
    const spool = spoolOf(home);
    const { agent } = rouse.agent({ task: "t", env: { ROUSE_HOME: home } });
    await rouse.until(() => rouse.beats().length > 0);
    rouse.script.instead = async ({ path, body }) =>
      path.endsWith("/checkpoints")
        ? new Promise(() => undefined)
        : path === "/api/v1/heartbeats"
          ? { status: 409, body: { ...ackOf(body, [], "rejected"), because: "old-incarnation" } }
          : undefined;
    await expect(agent.checkpoint(1, {})).rejects.toThrow(ReplacedError);
    expect(spool.names()).toEqual([]);
  });
});

describe("checkpoints that an earlier life left", () => {
  const hash = (text: string) => createHash("sha256").update(text).digest("hex");
  const left = (folder: string, step: number, state: string, after?: string) =>
    writeFileSync(
      join(folder, `00000000000${readdirSync(folder).length + 1}-1.json`),
      `{"step":${step},"name":"","state":"${state}"${after === undefined ? "" : `,"after":"${after}"`}}`,
    );
  const newest = (id: string, step: number, state: string) => ({ id, step, stateHash: hash(`"${state}"`) });

  it("are not laid over what a later life saved: one warning, and its work goes on", async () => {
    const [rouse, home] = [scriptedRouse(), makeHome()];
    const spool = spoolOf(home);
    for (const step of [2, 3]) left(spool.folder, step, "of life 1", "c1");
    rouse.script.chain = [newest("c3", 3, "of life 2")];
    const { agent, warnings } = rouse.agent({ task: "t", env: { ROUSE_HOME: home } });
    expect(await agent.checkpoint(4, "of life 3")).toEqual({ state: "saved", step: 4 });
    expect(rouse.saved().map(({ state }) => state)).toEqual(["of life 3"]);
    expect(warnings).toEqual([expect.stringContaining("are dropped (step 2, 3): task t is at step 3 by now")]);
    expect(spool.names()).toEqual([]);
  });

  it("are sent where they go on from the newest, also for the same step again", async () => {
    const [rouse, home] = [scriptedRouse(), makeHome()];
    left(spoolOf(home).folder, 3, "better", "c3");
    rouse.script.chain = [newest("c3", 3, "good")];
    const { warnings } = rouse.agent({ task: "t", env: { ROUSE_HOME: home } });
    await rouse.until(() => rouse.saved().length === 1);
    expect(rouse.saved()[0]).toMatchObject({ step: 3, state: "better" });
    expect(warnings).toEqual([]);
  });

  it("are sent after the one that is there already, whose answer alone was lost", async () => {
    const [rouse, home] = [scriptedRouse(), makeHome()];
    const spool = spoolOf(home);
    for (const state of ["worse", "good", "better"]) left(spool.folder, 3, state, "c2");
    rouse.script.chain = [newest("c3", 3, "good")];
    const { warnings } = rouse.agent({ task: "t", env: { ROUSE_HOME: home } });
    await rouse.until(() => spool.names().length === 0);
    expect(rouse.saved().map(({ state }) => state)).toEqual(["good", "better"]);
    expect(warnings).toEqual([]);
  });

  it("say what they go on from", async () => {
    const [rouse, home] = [scriptedRouse(), makeHome()];
    const spool = spoolOf(home);
    const { agent } = rouse.agent({ task: "t", env: { ROUSE_HOME: home } });
    await agent.checkpoint(1, "one");
    rouse.script.instead = ({ path }) => (path.endsWith("/checkpoints") ? unreachable : undefined);
    await agent.checkpoint(1, "two");
    await agent.close();
    const next = scriptedRouse();
    next.script.chain = [newest("saved-1", 1, "one")];
    next.agent({ task: "t", env: { ROUSE_HOME: home } });
    await next.until(() => spool.names().length === 0);
    expect(next.saved().map(({ state }) => state)).toEqual(["two"]);
  });
});
