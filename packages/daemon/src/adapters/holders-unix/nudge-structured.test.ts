import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { HolderReport, NudgeDelivery, Sight } from "@rouse/contract";
import type { HolderFile, Spec } from "@rouse/holder";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { BundledHolder } from "../../../../holder/src/bundle-holder.test-support.ts";
import { kill, readHolderFile, storeOfTests, until, type World } from "../../../../holder/src/holding.test-support.ts";
import { worldOfEach } from "../../../../holder/src/world-of-each.test-support.ts";
import type { Holders, NudgeRequest } from "../../ports/holders.ts";
import { openHolders } from "./open-holders.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let bundled: BundledHolder;
let world: World;
let monitors: Holders[];
const undo: (() => void)[] = [];
worldOfEach((fresh, made) => {
  world = fresh;
  bundled = made;
});
beforeEach(() => {
  monitors = [];
});
afterEach(async () => {
  for (const each of monitors) await each.close();
  for (const end of undo.splice(0)) end();
  await world.remove();
});

const fact = 'The last 5 calls failed with "no such file".\nReport what blocks you: DONE or not.';
const notSent = (because: string) => ({ kind: "not-sent", because });
const written = { kind: "sent", channel: "stdin", echoed: false };
const flags = ["-p", "--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];

let keys = 0;
async function monitor() {
  const reports: HolderReport[] = [];
  const holders = openHolders(
    { folder: world.home, token: "t", url: () => null },
    { info() {}, warn() {}, error() {} },
  );
  monitors.push(holders);
  await holders.begin(
    {
      standing: () => null,
      held: async () => ({ lastReport: 0, settings: { patterns: [], completionMarker: "DONE" } }),
      async reported(_, __, report) {
        reports.push(report);
      },
      nobodyLeft: async () => {},
      registered: () => null,
      endsLeftovers: async () => {},
      async lost() {},
    },
    1,
    storeOfTests,
  );
  const nudge = (changes: Partial<NudgeRequest> = {}): Promise<NudgeDelivery> =>
    holders.nudge({
      key: `k${++keys}`,
      agentId: "a1",
      incarnation: 1,
      text: fact,
      notAfter: Date.now() + 60_000,
      ...changes,
    });
  const sights = (): Sight[] => reports.flatMap((report) => report.sights);
  return { nudge, sights, reports };
}

/** Reads messages as Claude Code does, writes each down, and answers when it has them all. */
const agent = `#!${process.execPath}
const fs = require("node:fs");
const say = (line) => process.stdout.write(JSON.stringify(line) + "\\n");
say({ type: "system", subtype: "init", session_id: "s1", model: "m" });
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  fs.appendFileSync(__dirname + "/messages", line + "\\n");
  if (line !== "") say({ type: "assistant", message: { id: "m" + line.length, content: [{ type: "text", text: "I heard." }] } });
}).on("close", () => { fs.appendFileSync(__dirname + "/messages", "end\\n"); process.exit(4); });
`;

function writeAgent(script = agent): string {
  const file = join(world.home, "claude");
  writeFileSync(file, script);
  chmodSync(file, 0o755);
  return file;
}

const specOf = (changes: Partial<Spec> = {}): Spec =>
  world.spec([writeAgent(), ...flags], { family: "claude-code", structured: true, ...changes });

async function start(changes: Partial<Spec> = {}): Promise<HolderFile> {
  const held = await world.start(specOf(changes));
  await until(() => world.output().includes("init"), "it is ready");
  return held;
}

const lines = (): string[] => {
  const file = join(world.home, "messages");
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
};
const message = (content: string) => ({ type: "user", message: { role: "user", content }, parent_tool_use_id: null });
const messages = () => lines().map((line) => (line === "end" ? line : JSON.parse(line)));

describe("an agent that reads lines of JSON is nudged by one", () => {
  it("between pipes, where its input stays open for it", async () => {
    const held = await start({ io: "pipes" });
    const { nudge } = await monitor();
    expect(await nudge()).toEqual(written);
    expect(await nudge({ text: "And again." })).toEqual(written);
    await until(() => lines().length === 2, "it has read both");
    expect(messages()).toEqual([message(fact), message("And again.")]);
    const client = await world.connect(held);
    client.say({ say: "probe", id: 1 });
    expect((await client.hear("here")).hold.input).toBe("stdin");
  });

  it("in a terminal, whoever is attached, and what the terminal echoes is not its word", async () => {
    const held = await start();
    const { nudge, sights, reports } = await monitor();
    const person = await world.connect(held);
    person.say({ say: "attach", size: { cols: 80, rows: 24 } });
    await person.hear("attached");
    expect(await nudge()).toEqual(written);
    await until(() => lines().length === 1, "it has read it");
    expect(messages()).toEqual([message(fact)]);
    await until(() => sights().some(({ kind }) => kind === "said"), "its answer is known");
    expect(world.output().toString()).toContain("Report what blocks you");
    expect(sights().filter(({ kind }) => kind === "said")).toHaveLength(1);
    expect(sights().some(({ kind }) => kind === "completed" || kind === "error")).toBe(false);
    expect(reports.some(({ attached }) => attached === 1)).toBe(true);
  });

  it("once per key", async () => {
    await start({ io: "pipes" });
    const { nudge } = await monitor();
    expect(await Promise.all([nudge({ key: "same" }), nudge({ key: "same" })])).toEqual([written, written]);
    expect(await nudge({ key: "same" })).toEqual(written);
    expect(await nudge({ text: "the last" })).toEqual(written);
    await until(() => lines().length >= 2, "it has read them");
    expect(messages()).toEqual([message(fact), message("the last")]);
  });

  it("but not after its time, and not by more than a terminal takes in one line", async () => {
    await start();
    const { nudge } = await monitor();
    expect(await nudge({ notAfter: Date.now() - 1 })).toEqual(notSent("expired"));
    expect(await nudge({ text: "日".repeat(2000) })).toEqual(notSent("no-input"));
    expect(await nudge({ text: "the last" })).toEqual(written);
    await until(() => lines().length === 1, "it has read one");
    expect(messages()).toEqual([message("the last")]);
  });

  it("but not when it is over", async () => {
    const spec = specOf({ io: "pipes" });
    writeAgent("#!/bin/sh\n");
    const held = await world.start(spec);
    const watcher = await world.connect(held);
    watcher.say({ say: "watch", epoch: 1, after: 0 });
    await watcher.hear("exited");
    const order = { kind: "nudge" as const, text: fact, notAfter: Date.now() + 60_000 };
    watcher.say({ say: "order", key: "late", incarnation: 1, epoch: 1, order });
    expect((await watcher.hear("carried-out")).outcome).toEqual(notSent("over"));
  });

  it("but not into a line that a person has begun", async () => {
    const held = await start();
    const { nudge } = await monitor();
    const person = await world.connect(held);
    person.say({ say: "attach", size: { cols: 80, rows: 24 } });
    await person.hear("attached");
    person.type('{"type":');
    await until(() => world.output().toString().endsWith('{"type":'), "it is echoed");
    expect(await nudge()).toEqual(notSent("half-typed"));
    person.type('"x"}\r');
    await until(() => lines().length === 1, "their line is read");
    expect(messages()).toEqual([{ type: "x" }]);
    expect(await nudge()).toEqual(written);
  });

  it("but is not said to have it when it does not read", async () => {
    const held = await world.start(
      world.spec([writeAgent('#!/bin/sh\necho \'{"type":"init"}\'; exec sleep 1000\n'), ...flags], {
        family: "claude-code",
        structured: true,
        io: "pipes",
      }),
    );
    expect(held.agent).not.toBeNull();
    const { nudge } = await monitor();
    const answers: NudgeDelivery[] = [];
    // A pipe of the system holds 64 kB.
    while (answers.length < 60 && answers.at(-1)?.kind !== "not-sent")
      answers.push(await nudge({ text: "x".repeat(2000) }));
    expect(answers.at(-1)).toEqual(notSent("not-echoed"));
  });
});

describe("rouse run passes its own input on to such an agent", () => {
  function runInPipes(script = agent): { child: ChildProcess; ended: Promise<[number | null]>; heard: () => string } {
    const runner = join(world.home, "run.mjs");
    const spec = specOf({ io: "pipes", foreground: true });
    writeAgent(script);
    writeFileSync(
      runner,
      `import { runInForeground } from ${JSON.stringify(bundled.runFile.href)};
       const exit = await runInForeground(${JSON.stringify(spec)}, ${JSON.stringify(world.home)});
       process.exitCode = exit.code ?? 1;`,
    );
    const child = spawn(process.execPath, [runner], { stdio: ["pipe", "pipe", "inherit"], detached: true });
    undo.push(() => {
      const agent = readHolderFile(world.files())?.agent;
      if (agent != null) kill(agent);
      child.kill("SIGKILL");
    });
    let heard = "";
    child.stdout?.on("data", (bytes: Buffer) => (heard += bytes));
    return { child, ended: once(child, "close") as Promise<[number | null]>, heard: () => heard };
  }

  it("line for line, with nudges between the lines, until that input ends", async () => {
    const { child, ended, heard } = runInPipes();
    await until(() => heard().includes("init"), "it is ready");
    await until(() => readHolderFile(world.files())?.agent != null, "it is held");
    const { nudge } = await monitor();
    const own = JSON.stringify(message("from me"));
    child.stdin?.write(`${own}\n`);
    await until(() => lines().length === 1, "it has read mine");
    expect(await nudge()).toEqual(written);
    child.stdin?.write(own.slice(0, 10));
    let between = 0;
    // Until the half line has come through.
    for (let answer = await nudge(); answer.kind === "sent"; answer = await nudge()) between++;
    expect(await nudge()).toEqual(notSent("half-typed"));
    child.stdin?.write(`${own.slice(10)}\n`);
    await until(() => lines().length === 3 + between, "it has read all");
    const nudges = Array.from({ length: 1 + between }, () => message(fact));
    expect(messages()).toEqual([message("from me"), ...nudges, message("from me")]);
    child.stdin?.end();
    expect((await ended)[0]).toBe(4);
    expect(messages().at(-1)).toBe("end");
  });

  it("and to its end: after that nobody can say anything more", async () => {
    const { child, heard } = runInPipes(agent.replace("process.exit(4)", "setInterval(() => {}, 1000)"));
    await until(() => heard().includes("init"), "it is ready");
    await until(() => readHolderFile(world.files())?.agent != null, "it is held");
    child.stdin?.end();
    await until(() => lines().at(-1) === "end", "it has read to the end");
    const { nudge } = await monitor();
    expect(await nudge()).toEqual(notSent("no-input"));
  });
});
