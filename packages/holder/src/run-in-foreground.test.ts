import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { spawn as spawnInTerminal } from "@lydell/node-pty";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { BundledHolder } from "./bundle-holder.test-support.ts";
import { kill, readHolderFile, until, type World } from "./holding.test-support.ts";
import { identityOf, isSame } from "./processes/read-processes.ts";
import type { ExitFile, Spec } from "./protocol/spec.ts";
import { worldOfEach } from "./world-of-each.test-support.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let bundled: BundledHolder;
let world: World;
const undo: (() => void)[] = [];
worldOfEach((fresh, made) => {
  world = fresh;
  bundled = made;
});
afterEach(async () => {
  for (const end of undo.splice(0)) end();
  await world.remove();
});

/** The file stays; who it names does not. */
const isHeld = (): boolean => {
  const held = readHolderFile(world.files());
  return held !== null && isSame(held.holder);
};

const sh = (script: string): string[] => ["sh", "-c", script];

/** What `rouse run` does with how it ended, and nothing else. */
let runners = 0;

/**
 * Each in a file of its own: one that is written anew is empty for a moment, and whoever starts just then has nothing
 * to run.
 */
function writeRunner(spec: Spec): string {
  const file = join(world.home, `run-${++runners}.mjs`);
  writeFileSync(
    file,
    `import { constants } from "node:os";
     import { runInForeground } from ${JSON.stringify(bundled.runFile.href)};
     const exit = await runInForeground(${JSON.stringify(spec)}, ${JSON.stringify(world.home)});
     process.exitCode = exit.code ?? 128 + constants.signals[exit.signal];`,
  );
  return file;
}

/** `rouse run` typed into a terminal. */
function runInTerminal(script: string, changes: Partial<Spec> = {}) {
  const runner = writeRunner(world.spec(sh(script), { foreground: true, ...changes }));
  const terminal = spawnInTerminal(
    "sh",
    ["-c", `${process.execPath} ${runner}; echo "code $?"; stty -a | grep -o '.icanon'; read x`],
    {
      cols: 80,
      rows: 24,
      env: { PATH: process.env["PATH"] ?? "" },
    },
  );
  let shown = "";
  terminal.onData((text) => {
    shown += text;
  });
  undo.push(() => terminal.kill("SIGKILL"));
  return {
    terminal,
    shows: (text: string) =>
      until(
        () => shown.includes(text),
        () => `${text}; shown ${shown}`,
      ),
    shown: () => shown,
  };
}

/** `rouse run` in the middle of pipes. */
function runInPipes(script: string, stdio: ("pipe" | "ignore" | number)[] = ["pipe", "pipe", "pipe"]) {
  const runner = writeRunner(world.spec(sh(script), { foreground: true, io: "pipes" }));
  const child: ChildProcess = spawn(process.execPath, [runner], { stdio, detached: true });
  undo.push(() => child.kill("SIGKILL"));
  const heard = { out: "", err: "" };
  child.stdout?.on("data", (bytes: Buffer) => (heard.out += bytes));
  child.stderr?.on("data", (bytes: Buffer) => (heard.err += bytes));
  const ended = once(child, "close") as Promise<[number | null, string | null]>;
  return { child, heard, ended };
}

describe("rouse run in a terminal", () => {
  it("shows what the agent writes, types what is typed, resizes with the window and leaves the terminal as it was", async () => {
    // A key may overtake the news of a resize: they reach us by different ways.
    const resized = 'until [ "$(stty size)" = "30 100" ]; do sleep 0.02; done';
    const run = runInTerminal(`stty size; read x; echo got $x; ${resized}; stty size; read y; exit 5`);
    await run.shows("24 80");
    run.terminal.resize(100, 30);
    run.terminal.write("hello\r");
    await run.shows("got hello");
    await run.shows("30 100");
    run.terminal.write("\r");
    await run.shows("code 5");
    await run.shows(" icanon");
    expect(world.output().toString()).toContain("got hello\r\n30 100\r\n");
    expect(isHeld()).toBe(false);
  });

  it("lets Ctrl-C reach the agent alone, and a person is the cause of the end", async () => {
    const run = runInTerminal("echo ready; sleep 100");
    await run.shows("ready");
    run.terminal.write("\x03");
    await run.shows("code 130");
    const exit = JSON.parse(readFileSync(world.files().exit, "utf8")) as ExitFile;
    expect(exit.exit).toEqual({ code: null, signal: "SIGINT", cause: "person" });
  });

  it("shows a full-screen program's bare line feeds as they are", async () => {
    const run = runInTerminal("stty raw; printf 'one\\ntwo'; exit 0");
    await run.shows("one\ntwo");
  });

  it("shows unchanged what our own reading of it would take hours for, and ends with the agent's status", async () => {
    const evil = `A\x1b[2147483647b\x1b[2147483647S${"A\x1b[1920b\x1b[24S\x1bc".repeat(60_000)}the-end`;
    writeFileSync(join(world.home, "evil"), evil);
    const run = runInTerminal("cat evil; exit 7");
    await run.shows("code 7");
    expect(run.shown().startsWith(evil)).toBe(true);
    expect(isHeld()).toBe(false);
  });

  it("shows the cursor again after a program that had no time to", async () => {
    const run = runInTerminal("printf '\\033[?1049h\\033[?25l'; echo ready; kill -9 $$");
    await run.shows("code 137");
    expect(run.shown()).toContain("\x1b[?1049l\x1b[?25h");
  });

  it("tells the agent when the terminal is closed, and keeps what it wrote before", async () => {
    const run = runInTerminal("trap 'sleep 0.3; exit 4' HUP; echo ready; while :; do sleep 0.05; done");
    await run.shows("ready");
    (run.terminal as unknown as { destroy(): void }).destroy();
    await until(() => !isHeld(), "rouse run ends");
    expect(world.output().toString()).toContain("ready\r\n");
    const { exit } = JSON.parse(readFileSync(world.files().exit, "utf8"));
    expect(exit).toEqual({ code: 4, signal: null, cause: "person" });
  });

  it("is hung up on by a signal alone, which is no person who closed its terminal", async () => {
    const run = runInTerminal("trap 'exit 4' HUP; echo ready; while :; do sleep 0.05; done");
    await run.shows("ready");
    await until(() => readHolderFile(world.files())?.agent != null, "it is held");
    process.kill(readHolderFile(world.files())?.holder.pid ?? 0, "SIGHUP");
    await until(() => !isHeld(), "rouse run ends");
    const { exit } = JSON.parse(readFileSync(world.files().exit, "utf8"));
    expect(exit).toEqual({ code: 4, signal: null, cause: "killed" });
  });

  it("can be reached by others at the same time", async () => {
    const run = runInTerminal("echo ready; read x; echo got $x; read y");
    await run.shows("ready");
    await until(() => readHolderFile(world.files())?.agent != null, "it is held");
    const client = await world.connect(readHolderFile(world.files()) as never);
    client.say({ say: "attach", size: { cols: 70, rows: 20 } });
    await client.shows("ready");
    client.type("there\r");
    await run.shows("got there");
    client.say({ say: "probe", id: 1 });
    expect((await client.hear("here")).hold.foreground).toBe(true);
  });
});

describe("rouse run whose terminal is closed", () => {
  const close = (run: ReturnType<typeof runInTerminal>) => (run.terminal as unknown as { destroy(): void }).destroy();
  const noted = (name: string): string => {
    try {
      return readFileSync(join(world.home, name), "utf8");
    } catch {
      return "";
    }
  };

  it("takes the terminal away from an agent that ignores being hung up on: it reads no more", async () => {
    const run = runInTerminal("trap '' HUP; echo ready; cat; echo no more to read > end; exit 3");
    await run.shows("ready");
    close(run);
    await until(() => !isHeld(), "rouse run ends");
    expect(noted("end")).toBe("no more to read\n");
  });

  it("reaches everybody in the agent's process group, once each, as without us", async () => {
    const child = `sh -c 'trap "echo child >> told" HUP; echo child ready; while [ ! -e go ]; do sleep 0.05; done'`;
    const run = runInTerminal(
      `trap 'echo agent >> told' HUP; ${child} & while [ ! -e go ]; do sleep 0.05; done; wait; exit 0`,
    );
    await run.shows("child ready");
    close(run);
    await until(() => noted("told").split("\n").length === 3, "both are told");
    writeFileSync(join(world.home, "go"), "");
    await until(() => !isHeld(), "rouse run ends");
    expect(noted("told").trim().split("\n").sort()).toEqual(["agent", "child"]);
  });

  it("stays with an agent that goes on regardless, and knows how it ended", async () => {
    const run = runInTerminal("trap '' HUP; echo ready; while [ ! -e go ]; do sleep 0.05; done; exit 6");
    await run.shows("ready");
    await until(() => readHolderFile(world.files())?.agent != null, "it is held");
    const client = await world.connect(readHolderFile(world.files()) as never);
    client.say({ say: "watch", epoch: 1, after: 0 });
    close(run);
    await client.hear("report", ({ report }) => report.attached === 0);
    writeFileSync(join(world.home, "go"), "");
    await until(() => !isHeld(), "rouse run ends");
    expect((JSON.parse(readFileSync(world.files().exit, "utf8")) as ExitFile).exit.code).toBe(6);
  });
});

describe("rouse run whose agent leaves a process running", () => {
  const leaves = "setsid sh -c 'echo $$ > server; exec sleep 1000' & until [ -s server ]; do sleep 0.02; done";
  const server = () => identityOf(Number(readFileSync(join(world.home, "server"), "utf8")));
  afterEach(() => {
    const id = server();
    if (id !== null) kill(id);
  });

  it("gives the terminal back with the agent's status, and says what is left", async () => {
    const { heard, ended } = runInPipes(`${leaves}; exit 0`);
    expect((await ended)[0]).toBe(0);
    const pid = server()?.pid;
    expect(pid).toBeDefined();
    expect(heard.err).toBe(`rouse: a1 left processes running (${pid} sleep); \`rouse terminate a1\` ends them\n`);
  });

  it("stays with it when nobody is there any more, until it is gone", async () => {
    const run = runInTerminal(`${leaves}; echo ready; read x`);
    await run.shows("ready");
    const client = await world.connect(readHolderFile(world.files()) as never);
    client.say({ say: "watch", epoch: 1, after: 0 });
    (run.terminal as unknown as { destroy(): void }).destroy();
    const { report } = await client.hear("report", (each) => each.report.leftovers !== undefined);
    expect(report).toMatchObject({ exit: null, leftovers: [{ pid: server()?.pid }] });
    kill(server() as never);
    const last = await client.hear("report", (each) => each.report.exit !== null);
    expect(last.report.exit?.cause).toBe("person");
  });
});

describe("rouse run that is told to end", () => {
  it("ends the agent with everybody it started, and ends as if by that signal", async () => {
    const { child, heard, ended } = runInPipes("setsid sleep 1000 & echo $! ; exec sleep 1000");
    await until(() => heard.out.includes("\n"), "it runs");
    const other = Number(heard.out.trim());
    child.kill("SIGTERM");
    expect((await ended)[0]).toBe(143);
    expect(identityOf(other)).toBeNull();
    const { exit } = JSON.parse(readFileSync(world.files().exit, "utf8")) as ExitFile;
    expect(exit).toEqual({ code: null, signal: "SIGTERM", cause: "killed" });
  });

  it("forces an agent that does not end when asked, and still ends as if by that signal", async () => {
    const { child, heard, ended } = runInPipes("trap '' TERM; echo ready; while :; do sleep 0.05; done");
    await until(() => heard.out.includes("ready"), "it runs");
    child.kill("SIGTERM");
    expect((await ended)[0]).toBe(143);
    const { exit } = JSON.parse(readFileSync(world.files().exit, "utf8")) as ExitFile;
    expect(exit).toEqual({ code: null, signal: "SIGKILL", cause: "killed" });
  });
});

describe("rouse run in a terminal that a monitor would type into", () => {
  const box = "printf '%s\\n' ──────────── '❯ ' ────────────";
  const order = (key: string) =>
    ({
      say: "order",
      key,
      incarnation: 1,
      epoch: 1,
      order: { kind: "nudge", text: "The last 5 calls failed.", notAfter: Date.now() + 60_000 },
    }) as const;

  it("is left to the person, also after its terminal was closed", async () => {
    const run = runInTerminal(`trap '' HUP; ${box}; while :; do sleep 0.05; done`, { family: "claude-code" });
    await run.shows("❯");
    await until(() => readHolderFile(world.files())?.agent != null, "it is held");
    const client = await world.connect(readHolderFile(world.files()) as never);
    client.say(order("k1"));
    expect((await client.hear("carried-out")).outcome).toEqual({ kind: "not-sent", because: "attached" });
    client.say({ say: "watch", epoch: 1, after: 0 });
    (run.terminal as unknown as { destroy(): void }).destroy();
    await client.hear("report", ({ report }) => report.attached === 0);
    client.say(order("k2"));
    const second = await client.hear("carried-out", ({ key }) => key === "k2");
    expect(second.outcome).toEqual({ kind: "not-sent", because: "attached" });
    client.say({ ...order("k3"), order: { kind: "stop", graceMs: 0 } });
    await client.hear("carried-out", ({ key }) => key === "k3");
  });
});

describe("rouse run between pipes", () => {
  it("is never stopped by a monitor of its own accord, though no terminal shows that somebody is there", async () => {
    const { heard, ended } = runInPipes("echo ready; while [ ! -e go ]; do sleep 0.05; done; exit 2");
    await until(() => heard.out.includes("ready") && readHolderFile(world.files())?.agent != null, "it is held");
    const client = await world.connect(readHolderFile(world.files()) as never);
    const order = { kind: "stop", graceMs: 0, unlessAttached: true } as const;
    client.say({ say: "order", key: "k1", incarnation: 1, epoch: 1, order });
    expect((await client.hear("carried-out")).outcome).toEqual({ kind: "refused", because: "attached" });
    writeFileSync(join(world.home, "go"), "");
    expect((await ended)[0]).toBe(2);
  });

  it("passes on both streams byte for byte, its input and the exit code", async () => {
    const { child, heard, ended } = runInPipes("cat; echo problem >&2; printf '\\033[1mend'; exit 6");
    child.stdin?.end("one\ntwo\n");
    expect((await ended)[0]).toBe(6);
    expect(heard).toEqual({ out: "one\ntwo\n\x1b[1mend", err: "problem\n" });
  });

  it("passes signals on", async () => {
    const { child, heard, ended } = runInPipes(
      "trap 'echo usr1' USR1; trap 'echo term; exit 7' TERM; echo ready; while :; do sleep 0.05; done",
    );
    await until(() => heard.out.includes("ready"), "it runs");
    child.kill("SIGUSR1");
    await until(() => heard.out.includes("usr1"), "it has the first signal");
    child.kill("SIGTERM");
    expect((await ended)[0]).toBe(7);
    expect(heard.out).toBe("ready\nusr1\nterm\n");
  });

  it("loses nothing to a reader who is slow, and the agent waits for them", async () => {
    const { child, ended } = runInPipes("head -c 8000000 /dev/zero | tr '\\0' x; printf the-end");
    child.stdout?.pause();
    child.stdout?.removeAllListeners("data");
    await until(() => world.output().length > 500_000, "much of it is on its way");
    const out: Buffer[] = [];
    child.stdout?.on("data", (bytes: Buffer) => out.push(bytes));
    child.stdout?.resume();
    expect((await ended)[0]).toBe(0);
    const all = Buffer.concat(out);
    expect(all.length).toBe(8_000_007);
    expect(all.subarray(-7).toString()).toBe("the-end");
  });

  it("ends the agent when nobody reads any more", async () => {
    const { child, ended } = runInPipes("yes", ["pipe", "pipe", "pipe"]);
    await once(child.stdout as NodeJS.ReadableStream, "data");
    child.stdout?.destroy();
    expect((await ended)[0]).toBe(129);
  });

  it("goes on when the disk behind its output is full", async () => {
    const { ended } = runInPipes("echo lost; sleep 0.5; echo too; exit 3", [
      "pipe",
      openSync("/dev/full", "w"),
      "pipe",
    ]);
    expect((await ended)[0]).toBe(3);
    expect(world.output().toString()).toBe("lost\ntoo\n");
  });
});

describe("a name that many want at once after its holder was killed", () => {
  it("goes to exactly one of them", async () => {
    const first = await world.start(world.spec(sh("sleep 100")));
    kill(first.holder);
    await until(() => !isSame(first.holder), "it is gone");
    const all = Array.from({ length: 6 }, () =>
      runInPipes("while [ ! -e go ]; do sleep 0.05; done", ["ignore", "pipe", "pipe"]),
    );
    const codes: (number | null)[] = [];
    for (const { ended } of all) void ended.then(([code]) => codes.push(code));
    await until(() => codes.length === 5, "all but one are refused");
    expect(codes).toEqual([1, 1, 1, 1, 1]);
    expect(all.filter(({ heard }) => heard.err.includes("is already running"))).toHaveLength(5);
    writeFileSync(join(world.home, "go"), "");
    await until(() => codes.length === 6, "the one who got it ends");
    expect(codes.at(-1)).toBe(0);
  });
});
