import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { AgentFamily, RecoveryContext } from "@rouse/contract";
import { type HolderFile, hasMark, identityOf, isSame } from "@rouse/holder";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { BundledHolder } from "../../../holder/src/bundle-holder.test-support.ts";
import { kill, readHolderFile, run, until, type World } from "../../../holder/src/holding.test-support.ts";
import { worldOfEach } from "../../../holder/src/world-of-each.test-support.ts";
import { startAgain } from "./start-again.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let bundled: BundledHolder;
let world: World;
worldOfEach((fresh, made) => {
  world = fresh;
  bundled = made;
});
afterEach(async () => {
  const last = readHolderFile(world.files());
  if (last !== null) {
    for (const id of [last.agent, last.holder]) if (id !== null) kill(id);
    await until(() => !isSame(last.holder), "the holder of its last life is gone");
  }
  await world.remove();
});

const again = (after = 1, holderFile = bundled.holderFile) =>
  startAgain({ home: world.home, token: "t".repeat(43), url: null, books: null }, "a1", after, null, { holderFile });

/** As after an upgrade that took the old one away. */
const missing = () => new URL("./not-there.js", bundled.holderFile);

const holds = (): HolderFile => {
  const file = readHolderFile(world.files());
  if (file === null) throw new Error("nobody holds it");
  return file;
};

const longSecondLife = ["sh", "-c", 'test "$ROUSE_INCARNATION" != 2 || sleep 100'];

/** Its first life is over and its holder gone. */
async function isOver(...command: string[]): Promise<void> {
  await world.ended(await world.start(world.spec(command)));
}

describe("a start that failed", () => {
  it("is tried again by the next order, and the agent lives", async () => {
    await isOver(...longSecondLife);
    await expect(again(1, missing())).rejects.toThrow("ended before it was ready");
    expect(await again()).toMatchObject({ incarnation: 2 });
    const { incarnation, agent } = holds();
    expect(incarnation).toBe(2);
    expect(agent !== null && isSame(agent)).toBe(true);
  });

  it("is not one that takes almost a minute, as on a machine that is busy; longer is not waited", async () => {
    await isOver(...longSecondLife);
    const go = join(world.home, "go");
    const slow = join(world.home, "slow.mjs");
    const wait = `import { existsSync } from "node:fs"; while (!existsSync(${JSON.stringify(go)})) await new Promise((r) => setTimeout(r, 20));`;
    writeFileSync(slow, `${wait}\nawait import(${JSON.stringify(bundled.holderFile.href)});\n`);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const failing = again(1, pathToFileURL(slow));
      await until(() => vi.getTimerCount() > 0, "it is waited for");
      vi.advanceTimersByTime(60_000);
      await expect(failing).rejects.toThrow("was not ready within 60 s");
      const starting = again(1, pathToFileURL(slow));
      await until(() => vi.getTimerCount() > 0, "it is waited for once more");
      vi.advanceTimersByTime(59_000);
      writeFileSync(go, "");
      expect(await starting).toMatchObject({ incarnation: 2 });
    } finally {
      vi.useRealTimers();
    }
  });

  it("because whoever wrote it down was killed before it came to that, is tried again", async () => {
    await isOver(...longSecondLife);
    const { holder, ...claim } = holds();
    // What a monitor leaves that dies between the two: the next life on paper, and the name taken by somebody dead.
    writeFileSync(world.files().spec, JSON.stringify({ ...readSpecFile(), incarnation: 2 }));
    writeFileSync(world.files().holder, JSON.stringify({ ...claim, holder, incarnation: 2, agent: null, socket: "" }));
    expect(await again()).toMatchObject({ incarnation: 2 });
    const { agent } = holds();
    expect(agent !== null && isSame(agent)).toBe(true);
  });
});

describe("a conversation that is to be gone on with", () => {
  const session = "3f2a9c1e-0b1d-4c55-9d7e-1a2b3c4d5e6f";
  const context: RecoveryContext = {
    taskId: null,
    checkpoint: null,
    step: null,
    stepName: null,
    reason: "killed",
    lost: { checkpoints: 0, steps: null, flaws: [], startsOver: true },
    attempt: 1,
    stateFile: null,
    workspace: null,
  };

  /** The second life is resumed and ends so; the third is what is to be seen. */
  async function afterResume(
    ends: string,
    { name, args, family } = { name: "claude", args: ["do it"], family: "claude-code" as AgentFamily },
  ): Promise<{ resumed: boolean; conversation: string | undefined }> {
    const file = join(world.home, name);
    const first = 'echo "I read: No conversation found with session ID"';
    writeFileSync(file, `#!/bin/sh\ncase "$*" in *${session}*) ${ends};; *) ${first};; esac\n`, { mode: 0o755 });
    await world.ended(await world.start(world.spec([file, ...args], { family })));
    const home = { home: world.home, token: "t".repeat(43), url: null, books: null };
    const options = { holderFile: bundled.holderFile };
    await startAgain(home, "a1", 1, { context, state: null, session }, options);
    await world.ended(holds());
    // A monitor names the conversation it last heard of.
    const { recovery } = await startAgain(home, "a1", 2, { context, state: null, session }, options);
    return { resumed: readSpecFile().resumed !== undefined, conversation: recovery?.lost.conversation };
  }

  it("is not tried for ever: when its program does not have it, it is begun anew, and that is said", async () => {
    const none = `echo "No conversation found with session ID: ${session}"`;
    expect(await afterResume(`${none}; exit 1`)).toEqual({ resumed: false, conversation: "lost" });
  });

  it.each([
    ["codex", ["exec", "do it"], "codex", `Error: thread/resume failed: no rollout found for thread id ${session}`],
    ["opencode", ["run", "do it"], "opencode", "Error: Session not found"],
    ["gemini", ["-p", "do it"], "gemini-cli", "Error resuming session: No previous sessions found for this project."],
  ] as const)("is begun anew when %s says that it does not have it", async (name, args, family, words) => {
    const ends = `echo "${words}" >&2; exit 1`;
    expect(await afterResume(ends, { name, args: [...args], family })).toEqual({
      resumed: false,
      conversation: "lost",
    });
  });

  it.each([
    ["has it, as far as anybody knows", "exit 1", "kept"],
    ["has none", 'echo "No conversation found to continue"; exit 1', "lost"],
  ])("is taken up by a command of its own, and that is said, if its program %s", async (_, ends, conversation) => {
    const file = join(world.home, "claude");
    writeFileSync(file, `#!/bin/sh\n${ends}\n`, { mode: 0o755 });
    await world.ended(await world.start(world.spec([file, "--continue"], { family: "claude-code" })));
    const home = { home: world.home, token: "t".repeat(43), url: null, books: null };
    const options = { holderFile: bundled.holderFile };
    const { recovery } = await startAgain(home, "a1", 1, { context, state: null, session: null }, options);
    expect(recovery?.lost.conversation).toBe(conversation);
  });

  it.each([
    ["killed", `echo "No conversation found with session ID"; kill -9 $$`],
    ["failed by something else", "echo Not logged in; exit 1"],
    [
      "failed after it had printed the words and much else",
      `echo "No conversation found with session ID"; seq 5000; exit 1`,
    ],
  ])("is tried again when its program was %s", async (_, ends) => {
    expect(await afterResume(ends)).toEqual({ resumed: true, conversation: "kept" });
  });
});

describe("a start that is ordered twice", () => {
  it("starts nothing beside the life that runs", async () => {
    await isOver(...longSecondLife);
    await again();
    const first = holds();
    expect(await again()).toMatchObject({ incarnation: 2 });
    expect(holds()).toEqual(first);
    expect(isSame(first.holder)).toBe(true);
  });

  it("starts nothing beside a holder that is about to start its agent", async () => {
    await isOver("true");
    const starting = spawn("sleep", ["100"], { stdio: "ignore" });
    const holder = identityOf(starting.pid ?? 0);
    writeFileSync(world.files().spec, JSON.stringify({ ...readSpecFile(), incarnation: 2 }));
    writeFileSync(world.files().holder, JSON.stringify({ ...holds(), holder, incarnation: 2, agent: null }));
    expect(await again()).toMatchObject({ incarnation: 2 });
    expect(holds()).toMatchObject({ holder, agent: null });
  });

  it("starts nothing after a life whose holder was killed with it", async () => {
    await isOver(...longSecondLife);
    await again();
    const { agent, holder } = holds();
    kill(holder);
    if (agent !== null) kill(agent);
    await until(() => !isSame(holder), "its holder is gone");
    expect(await again()).toMatchObject({ incarnation: 2 });
    expect(holds().holder).toEqual(holder);
  });

  it("does not repeat a life that came and went meanwhile", async () => {
    await isOver("sh", "-c", "echo $ROUSE_INCARNATION >> lives");
    await again();
    await world.ended(holds());
    expect(await again()).toMatchObject({ incarnation: 2 });
    // How it ended is enough to know that it was.
    rmSync(world.files().holder);
    expect(await again()).toMatchObject({ incarnation: 2 });
    expect((await run("cat", [`${world.home}/lives`])).out.toString()).toBe("\n2\n");
  });

  it("starts nothing beside an agent whose holder was killed before it could name it", async () => {
    await isOver("true");
    writeFileSync(world.files().spec, JSON.stringify({ ...readSpecFile(), incarnation: 2 }));
    const mark = randomBytes(16).toString("hex");
    writeFileSync(world.files().holder, JSON.stringify({ ...holds(), incarnation: 2, agent: null, mark }));
    const unnamed = spawn("sleep", ["100"], { stdio: "ignore", env: { ROUSE_MARK: mark } });
    const ended = once(unnamed, "exit");
    try {
      await until(() => hasMark(unnamed.pid ?? 0, mark), "it runs");
      await expect(again()).rejects.toThrow(`process ${unnamed.pid}`);
    } finally {
      unnamed.kill("SIGKILL");
    }
    await ended;
    expect(await again()).toMatchObject({ incarnation: 2 });
  });
});

const readSpecFile = () => JSON.parse(readFileSync(world.files().spec, "utf8")) as Record<string, unknown>;
