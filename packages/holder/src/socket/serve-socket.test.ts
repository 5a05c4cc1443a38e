import { statSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { type Client, storeOfTests, until, type World } from "../holding.test-support.ts";
import { isSame } from "../processes/read-processes.ts";
import { reportsOf } from "../program/watched-program.test-support.ts";
import { readSecret } from "../protocol/holder-files.ts";
import { freshWorld } from "../world-of-each.test-support.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const world = freshWorld();

const sh = (script: string): string[] => ["sh", "-c", script];
const size = { cols: 80, rows: 24 };

async function held(
  script: string,
  changes = {},
): Promise<{ holder: Awaited<ReturnType<World["start"]>>; client: Client }> {
  const holder = await world.start(world.spec(sh(script), changes));
  return { holder, client: await world.connect(holder) };
}

describe("a probe", () => {
  it("is told who is held, and how it ended once it is over", async () => {
    const { holder, client } = await held("read x; exit 3", { agentType: "shell", taskId: "t1" });
    client.say({ say: "probe", id: 7 });
    const here = await client.hear("here");
    expect(here).toMatchObject({ id: 7, exit: null });
    expect(here.hold).toMatchObject({
      agentId: "a1",
      agentType: "shell",
      taskId: "t1",
      incarnation: 1,
      foreground: false,
      input: "none",
    });
    expect(here.hold.pid).toBe(holder.agent?.pid);
    client.say({ say: "attach", size });
    client.type("\r");
    const over = await client.hear("exited");
    expect(over.exit).toEqual({ code: 3, signal: null, cause: "by-itself" });
  });

  it("that makes no sense is answered and sent away, and the agent does not notice", async () => {
    const { holder, client } = await held("read x");
    client.say({ say: "probe" } as never);
    expect((await client.hear("misunderstood")).problem).toBe("no message of ours");
    await client.closed();
    const noise = await world.connect(holder);
    noise.send(Buffer.from("GET / HTTP/1.1\r\n\r\n"));
    await noise.closed();
    const typist = await world.connect(holder);
    typist.type("x\r");
    expect((await typist.hear("misunderstood")).problem).toBe("typed without being attached");
    expect(isSame(holder.holder)).toBe(true);
    expect(holder.agent !== null && isSame(holder.agent)).toBe(true);
  });
});

describe("a monitor", () => {
  it("hears numbered reports without a gap, again until it says it has heard them", async () => {
    const { holder, client } = await held("echo 'Error: one'; read x; echo 'Error: two'; read x");
    client.say({ say: "watch", epoch: 1, after: 0 });
    await client.hear("watched");
    await client.hear("report", ({ report }) => report.sights.some(({ kind }) => kind === "output"));
    const heard = reportsOf(client);
    expect(heard.map(({ seq }) => seq)).toEqual(heard.map((_, index) => index + 1));
    expect(heard[0]?.process?.processes).toBeGreaterThan(0);
    client.socket.destroy();

    const second = await world.connect(holder);
    second.say({ say: "watch", epoch: 1, after: 0 });
    await until(() => reportsOf(second).length >= heard.length, "the same reports");
    expect(reportsOf(second).slice(0, heard.length)).toEqual(heard);
    second.say({ say: "heard", seq: heard.length });
    second.say({ say: "watch", epoch: 1, after: 0 });
    await until(() => second.heard.filter(({ say }) => say === "watched").length === 2, "watched again");
    second.say({ say: "probe", id: 1 });
    await second.hear("here");
    const again = second.heard.slice(second.heard.findLastIndex(({ say }) => say === "watched"));
    expect(again.some((each) => each.say === "report" && each.report.seq <= heard.length)).toBe(false);
  });

  it("is replaced by the next, and an older one is turned away", async () => {
    const { holder, client } = await held("read x");
    client.say({ say: "watch", epoch: 5, after: 0 });
    await client.hear("watched");
    const newer = await world.connect(holder);
    newer.say({ say: "watch", epoch: 6, after: 0 });
    await newer.hear("watched");
    await client.hear("replaced");
    await client.closed();
    const older = await world.connect(holder);
    older.say({ say: "watch", epoch: 5, after: 0 });
    expect((await older.hear("refused")).because).toBe("old-epoch");
    await older.closed();
    expect(newer.heard.some(({ say }) => say === "replaced")).toBe(false);
  });

  it("is told of a question at once, of the patterns of its own, and of the end", async () => {
    const { client } = await held(
      "read x; echo 'deployed to MARS'; read y; echo '<promise>COMPLETE</promise>'; exit 2",
    );
    client.say({ say: "watch", epoch: 1, after: 0 });
    await client.hear("watched");
    const patterns = [
      { kind: "completed" as const, pattern: "deployed to [A-Z]+", name: "deployed" },
      { kind: "error" as const, pattern: "(" },
    ];
    client.say({ say: "settings", settings: { patterns, completionMarker: "<promise>COMPLETE</promise>" } });
    client.say({ say: "attach", size });
    await client.hear("attached");
    client.type("\r");
    const completed = (name: string) =>
      client.hear("report", ({ report }) => report.sights.some((it) => it.kind === "completed" && it.pattern === name));
    expect((await completed("deployed")).report.attached).toBe(1);
    client.type("\r");
    await completed("completion marker");
    const last = await client.hear("report", ({ report }) => report.exit !== null);
    expect(last.report.exit).toEqual({ code: 2, signal: null, cause: "by-itself" });
    expect(last.report.output.rows).toBeGreaterThanOrEqual(2);
    await client.hear("exited");
    expect(reportsOf(client).at(-1)).toEqual(last.report);
  });
});

describe("somebody who reads along", () => {
  it("gets what was kept and what comes, each byte once", async () => {
    const { holder, client } = await held("seq 1 5000; read x; seq 5001 30000");
    await until(() => world.output().includes("\n5000\r\n"), "the first part is written");
    client.say({ say: "read", from: 0, follow: true });
    await client.shows("\n5000\r\n");
    const typist = await world.connect(holder);
    typist.say({ say: "attach", size });
    typist.type("\r");
    await client.hear("end");
    const lines = client.output().toString().split("\r\n");
    expect(lines.filter((line) => line !== "")).toEqual(Array.from({ length: 30000 }, (_, i) => String(i + 1)));
    await client.hear("exited");
  });

  it("and does not want to wait gets what is there and is told that this was all", async () => {
    const { client } = await held("printf 0123456789; read x");
    await until(() => world.output().length === 10, "it is written");
    client.say({ say: "read", from: 4, follow: false });
    expect(await client.hear("end")).toEqual({ say: "end", at: 10 });
    expect(client.output().toString()).toBe("456789");
    expect(client.frames[0]?.offset).toBe(4);
  });

  it("may ask again on the same connection, also when there was nothing yet", async () => {
    const { client } = await held("read x");
    for (let round = 1; round <= 2; round++) {
      client.say({ say: "read", from: null, follow: false });
      await until(() => client.heard.filter(({ say }) => say === "end").length === round, "that was all");
    }
    expect(client.heard).toEqual([
      { say: "end", at: 0 },
      { say: "end", at: 0 },
    ]);
  });

  it("but never takes anything does not slow the agent, and still gets everything that is kept", async () => {
    const size = 20_000_000;
    const script = `head -c ${size} /dev/zero | tr '\\0' x; echo; read x`;
    const { holder, client } = await held(script, { keepBytes: 2 * size });
    client.socket.pause();
    client.say({ say: "read", from: 0, follow: true });
    const other = await world.connect(holder);
    await until(() => {
      other.say({ say: "probe", id: 1 });
      return other.heard.some((each) => each.say === "here" && each.outputEnd === size + 2);
    }, "the agent has written everything");
    client.socket.resume();
    await client.shows("\r\n");
    expect(client.output().length).toBe(size + 2);
  });
});

describe("somebody who attaches", () => {
  it("sees the screen, can type, and sees what comes of it", async () => {
    const { client } = await held("printf 'your name? '; read x; echo got $x; read y");
    await until(() => world.output().includes("name?"), "it asks");
    client.say({ say: "attach", size });
    await client.hear("attached");
    await client.shows("your name?");
    expect(client.frames[0]?.offset).toBe(world.output().length);
    client.type("bob\r");
    await client.shows("got bob");
  });

  it("makes the terminal as small as the smallest of all who are attached, and larger again when they leave", async () => {
    const { holder, client } = await held("while read x; do stty size; done");
    const ask = async (expected: string) => {
      client.type("\r");
      await client.shows(expected);
    };
    client.say({ say: "attach", size: { cols: 100, rows: 40 } });
    expect((await client.hear("attached")).size).toEqual({ cols: 100, rows: 40 });
    await ask("40 100");
    const small = await world.connect(holder);
    small.say({ say: "attach", size: { cols: 60, rows: 50 } });
    expect((await small.hear("attached")).size).toEqual({ cols: 60, rows: 40 });
    await ask("40 60");
    small.say({ say: "resize", size: { cols: 50, rows: 20 } });
    small.say({ say: "probe", id: 1 });
    await small.hear("here");
    await ask("20 50");
    small.socket.destroy();
    const watch = await world.connect(holder);
    watch.say({ say: "watch", epoch: 1, after: 0 });
    await watch.hear("report", ({ report }) => report.attached === 1 && report.seq > 1);
    const before = client.frames.length;
    client.type("\r");
    await until(
      () => Buffer.concat(client.frames.slice(before).map(({ bytes }) => bytes)).includes("40 100"),
      "large again",
    );
  });

  it("but never reads does not slow the agent, and is shown the screen when they do again", async () => {
    const script = "head -c 20000000 /dev/zero | tr '\\0' x; clear; echo the-last-screen; read x";
    const { holder, client } = await held(script);
    client.say({ say: "attach", size });
    await client.hear("attached");
    client.socket.pause();
    await until(() => world.output().includes("the-last-screen"), "the agent has written everything");
    client.socket.resume();
    await client.shows("the-last-screen");
    expect(client.frames.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBeLessThan(20_000_000);
    expect(isSame(holder.holder)).toBe(true);
  });

  it("is turned away when there is no terminal", async () => {
    const { client } = await held("sleep 100", { io: "pipes" });
    client.say({ say: "attach", size });
    expect((await client.hear("misunderstood")).problem).toContain("no terminal of its own");
  });

  it("and presses Ctrl-C is the cause of the end", async () => {
    const { holder, client } = await held("echo ready; sleep 100; echo not reached");
    client.say({ say: "attach", size });
    await client.shows("ready");
    client.type("\x03");
    expect((await client.hear("exited")).exit).toEqual({ code: null, signal: "SIGINT", cause: "person" });
    await until(() => !isSame(holder.holder), "the holder leaves by itself when nobody watches");
  });
});

describe("a program that asks its terminal something", () => {
  it("is answered when nobody is there who would", async () => {
    const script = "stty raw -echo; printf '\\033[6n'; dd bs=1 count=6 2>/dev/null | od -An -c; stty sane; read x";
    await held(script);
    await until(() => /033\s+\[\s+1\s+;\s+1\s+R/.test(world.output().toString()), "it has an answer");
  });
});

describe("orders", () => {
  const stop = (changes = {}) =>
    ({
      say: "order",
      key: "k1",
      incarnation: 1,
      epoch: 3,
      order: { kind: "stop", graceMs: 5000 },
      ...changes,
    }) as const;

  it("stop the whole tree, and say so in how it ended", async () => {
    const { holder, client } = await held(
      "trap 'sleep 0.2; exit 0' TERM; sleep 1000 & echo child $!; while :; do sleep 0.05; done",
    );
    await until(() => world.output().includes("\n"), "it has a child");
    const child = Number(/child (\d+)/.exec(world.output().toString())?.[1]);
    client.say(stop());
    expect((await client.hear("carried-out")).outcome).toMatchObject({ kind: "stopped", forced: false });
    expect(() => process.kill(child, 0)).toThrow("ESRCH");
    expect((await client.hear("exited")).exit.cause).toBe("stopped");
    await until(() => !isSame(holder.holder), "the holder leaves");
    const next = await world.start(world.spec(sh("sleep 1000"), { incarnation: 2 }));
    const later = await world.connect(next);
    later.say(stop());
    expect((await later.hear("carried-out")).outcome).toMatchObject({ kind: "stopped", forced: false });
    expect(next.agent !== null && isSame(next.agent)).toBe(true);
  });

  it("from an old monitor or for another life are refused", async () => {
    const { holder, client } = await held("sleep 1000");
    client.say({ say: "watch", epoch: 4, after: 0 });
    client.say(stop());
    expect((await client.hear("carried-out")).outcome).toEqual({ kind: "refused", because: "old-epoch" });
    client.say(stop({ key: "k2", epoch: 4, incarnation: 2 }));
    const second = await client.hear("carried-out", ({ key }) => key === "k2");
    expect(second.outcome).toEqual({ kind: "refused", because: "wrong-incarnation" });
    expect(holder.agent !== null && isSame(holder.agent)).toBe(true);
  });
});

describe("whoever comes to the socket", () => {
  const secretOf = () => readSecret(world.files().secret);
  const refused = (because: string) => [{ say: "refused", because }];
  const stopNow = (epoch: number | null) =>
    ({ say: "order", key: "k", incarnation: 1, epoch, order: { kind: "stop", graceMs: 100 } }) as const;

  it("finds it and the secret closed to everybody but its owner", async () => {
    const { holder } = await held("read x");
    const mode = (path: string) => statSync(path).mode & 0o777;
    expect([dirname(holder.socket), holder.socket, world.files().secret].map(mode)).toEqual([0o700, 0o600, 0o600]);
    expect(secretOf()).toMatch(/^[0-9a-f]{64}$/);
  });

  it("and does not show the secret gets a refusal and nothing else, not even of the end", async () => {
    const { holder, client } = await held("echo treasure; read x");
    await until(() => world.output().includes("treasure"), "it has written");
    const wrong = { say: "hello", secret: "0".repeat(64), monitor: { store: storeOfTests, epoch: 7 } } as const;
    const read = { say: "read", from: 0, follow: true } as const;
    const watch = { say: "watch", epoch: 9_000_000, after: 0 } as const;
    const silent = await world.stranger(holder);
    for (const line of [wrong, read, watch, stopNow(null), { say: "adopt", store: "mine" } as const]) {
      const stranger = await world.stranger(holder);
      stranger.say(line);
      stranger.say(read);
      await stranger.closed();
      expect(stranger.heard).toEqual(refused("wrong-secret"));
      expect(stranger.frames).toEqual([]);
    }
    const noise = await world.stranger(holder);
    noise.send(Buffer.from("GET / HTTP/1.1\r\n\r\n"));
    await noise.closed();
    expect(noise.heard).toEqual(refused("wrong-secret"));
    client.say({ say: "probe", id: 1 });
    expect(await client.hear("here")).toMatchObject({ store: null, epoch: null });
    client.say(stopNow(null));
    await client.hear("exited");
    await silent.closed();
    expect(silent.heard.filter(({ say }) => say !== "refused")).toEqual([]);
  });

  it("and begins something long is sent away at once, not after the time to show the secret", async () => {
    const { holder } = await held("read x");
    const came = performance.now();
    const stranger = await world.stranger(holder);
    stranger.send(Buffer.concat([Buffer.from([0, 15, 0, 0, 1]), Buffer.alloc(5000)]));
    await stranger.closed();
    expect(stranger.heard).toEqual(refused("wrong-secret"));
    expect(performance.now() - came).toBeLessThan(4500);
  });

  it("and says nothing is sent away, so that they keep nobody out", async () => {
    const { holder } = await held("read x");
    const crowd = await Promise.all(Array.from({ length: 64 }, () => world.stranger(holder)));
    await Promise.all(crowd.map((one) => one.closed()));
    const owner = await world.connect(holder);
    owner.say({ say: "probe", id: 1 });
    await owner.hear("here");
  });

  it("as a monitor of another store is refused, and may neither watch nor order as a person", async () => {
    const { holder, client } = await held("read x");
    client.say({ say: "watch", epoch: 5, after: 0 });
    await client.hear("watched");
    const other = await world.stranger(holder);
    other.say({ say: "hello", secret: secretOf(), monitor: { store: "other", epoch: 6 } });
    await other.closed();
    expect(other.heard).toEqual(refused("other-store"));
    for (const line of [stopNow(6), { say: "watch", epoch: 6, after: 0 } as const]) {
      const person = await world.stranger(holder);
      person.say({ say: "hello", secret: secretOf(), monitor: null });
      person.say(line);
      await until(() => person.heard.length === 2, "it was answered");
      expect(person.heard[1]).toMatchObject(
        line.say === "order"
          ? { say: "carried-out", outcome: { kind: "refused", because: "other-store" } }
          : { say: "misunderstood" },
      );
    }
    client.say({ say: "probe", id: 1 });
    expect(await client.hear("here")).toMatchObject({ store: storeOfTests, epoch: 5 });
  });

  it("with an epoch no monitor can have reached is refused, and locks nobody out", async () => {
    const { holder, client } = await held("read x");
    client.say({ say: "watch", epoch: 5, after: 0 });
    await client.hear("watched");
    const liar = await world.connect(holder);
    liar.say({ say: "watch", epoch: 5 + 10_001, after: 0 });
    expect((await liar.hear("refused")).because).toBe("epoch-too-high");
    const next = await world.connect(holder);
    next.say({ say: "watch", epoch: 6, after: 0 });
    await next.hear("watched");
  });

  it("as a person may hand the agent over to another store; its monitor is told and refused from then on", async () => {
    const { holder, client } = await held("read x");
    client.say({ say: "watch", epoch: 5, after: 0 });
    await client.hear("watched");
    client.say({ say: "adopt", store: "by-a-monitor" });
    expect((await client.hear("misunderstood")).problem).toContain("only a person");
    const again = await world.connect(holder);
    again.say({ say: "watch", epoch: 5, after: 0 });
    await again.hear("watched");
    const person = await world.connect(holder);
    person.say({ say: "adopt", store: "new" });
    await person.hear("adopted");
    await again.hear("replaced");
    const late = await world.connect(holder);
    late.say({ say: "watch", epoch: 6, after: 0 });
    expect((await late.hear("refused")).because).toBe("other-store");
    const owner = await world.stranger(holder);
    owner.say({ say: "hello", secret: secretOf(), monitor: { store: "new", epoch: 1 } });
    owner.say({ say: "watch", epoch: 1, after: 0 });
    await owner.hear("watched");
  });
});
