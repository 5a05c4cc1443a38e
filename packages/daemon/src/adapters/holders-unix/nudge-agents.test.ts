import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import type { HolderReport, NudgeDelivery } from "@rouse/contract";
import { createFrameReader, type HolderFile, isSame, jsonFrame, type Spec } from "@rouse/holder";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Client, kill, storeOfTests, until, type World } from "../../../../holder/src/holding.test-support.ts";
import {
  letGo,
  type Reads,
  type TypedInto,
  writeTypedInto,
} from "../../../../holder/src/nudge/typed-into.test-support.ts";
import { worldOfEach } from "../../../../holder/src/world-of-each.test-support.ts";
import type { Holders, NudgeRequest } from "../../ports/holders.ts";
import type { Log } from "../../ports/log.ts";
import { openHolders } from "./open-holders.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let world: World;
let monitors: Holders[];
worldOfEach((fresh) => {
  world = fresh;
});
beforeEach(() => {
  monitors = [];
});
afterEach(async () => {
  for (const each of monitors) await each.close();
  await world.remove();
});

const sh = (script: string): string[] => ["sh", "-c", script];
const size = { cols: 80, rows: 24 };
const fact = "The last 5 calls were identical and failed with the same error.";
const notSent = (because: string) => ({ kind: "not-sent", because });
const typed = { kind: "sent", channel: "terminal", echoed: true };
const prompts = { patterns: [{ kind: "at-prompt" as const, pattern: "^[❯>]\\s*$" }], completionMarker: "DONE" };

const silentLog: Log = { info() {}, warn() {}, error() {} };

interface Monitor {
  readonly holders: Holders;
  readonly reports: HolderReport[];
  nudge(changes?: Partial<NudgeRequest>): Promise<NudgeDelivery>;
}

let keys = 0;
async function monitor(epoch = 1): Promise<Monitor> {
  const reports: HolderReport[] = [];
  const holders = openHolders({ folder: world.home, token: "t", url: () => null }, silentLog);
  monitors.push(holders);
  await holders.begin(
    {
      standing: () => null,
      held: async () => ({ lastReport: 0, settings: prompts }),
      async reported(_, __, report) {
        reports.push(report);
      },
      nobodyLeft: async () => {},
      registered: () => null,
      endsLeftovers: async () => {},
      async lost() {},
    },
    epoch,
    storeOfTests,
  );
  return {
    holders,
    reports,
    nudge: (changes = {}) =>
      holders.nudge({
        key: `k${++keys}`,
        agentId: "a1",
        incarnation: 1,
        text: fact,
        notAfter: Date.now() + 60_000,
        ...changes,
      }),
  };
}

/** An agent that draws an input like Claude Code's, once it has drawn it. */
async function boxed(
  behaviour: TypedInto = {},
  changes: Partial<Spec> = {},
): Promise<{ held: HolderFile; reads: Reads }> {
  const reads = writeTypedInto(world.home, behaviour);
  const held = await world.start(world.spec(reads.command, { family: "claude-code", ...changes }));
  await until(() => world.output().includes("? for shortcuts"), "it has drawn its input");
  return { held, reads };
}

/** A command with a prompt like aider's, at rest as far as a monitor can see. */
async function prompted(script: string, changes: Partial<Spec> = {}): Promise<{ held: HolderFile; seen: Monitor }> {
  const held = await world.start(world.spec(sh(script), { family: "aider", watch: prompts, ...changes }));
  const seen = await monitor();
  const atPrompt = ({ sights }: HolderReport) => sights.some((it) => it.kind === "asks" && it.what === "prompt");
  await until(() => seen.reports.some(atPrompt), "it rests at its prompt");
  return { held, seen };
}

async function attach(held: HolderFile): Promise<Client> {
  const client = await world.connect(held);
  client.say({ say: "attach", size });
  await client.hear("attached");
  return client;
}

async function leave(person: Client, { reports }: Monitor): Promise<void> {
  await until(() => reports.some(({ attached }) => attached === 1), "it is known that somebody came");
  person.socket.destroy();
  await until(() => reports.at(-1)?.attached === 0, "it is known that they left");
}

describe("a nudge that is typed", () => {
  it("is read by a shell as one line, once", async () => {
    const { seen } = await prompted("printf '> '; read -r line; echo \"got [$line]\"; printf '> '; read -r other");
    expect(await seen.nudge({ text: `${fact}\nPlease report.\x1b[2J\x03` })).toEqual(typed);
    await until(() => world.output().includes("got ["), "it has read the line");
    expect(world.output().toString()).toContain(`got [${fact} Please report.[2J]`);
  });

  it("is read by a program with line editing", async () => {
    const { seen } = await prompted("exec python3 -c \"import readline; print('got', [input('> ')]); input('> ')\"");
    expect(await seen.nudge()).toEqual(typed);
    await until(() => world.output().includes(`got ['${fact}']`), "it has read the line");
  });

  it("goes into an input box, Enter as a read of its own, and nothing else is pressed", async () => {
    const { reads } = await boxed({ suggests: 'Try "fix the tests"' });
    const { nudge } = await monitor();
    const begun = performance.now();
    expect(await nudge()).toEqual(typed);
    await until(() => reads.all().includes("\r"), "Enter was read");
    console.info(`a nudge typed and sent after ${Math.round(performance.now() - begun)} ms`);
    expect(reads.all()).toEqual([fact, "\r"]);
  });

  it("reaches a program that works and says so with a spinner", async () => {
    const { reads } = await boxed({ works: true });
    const { nudge } = await monitor();
    expect(await nudge()).toEqual(typed);
    await until(() => reads.all().includes("\r"), "Enter was read");
  });

  it("goes in pieces of at most 512 bytes when it is long, each seen before the next, none cut in half", async () => {
    const { reads } = await boxed();
    const { nudge } = await monitor();
    const text = Array.from({ length: 120 }, (_, n) => `Nr ${n} größer 😀`).join(" ");
    expect(await nudge({ text })).toEqual(typed);
    await until(() => reads.all().includes("\r"), "Enter was read");
    const pieces = reads.all();
    expect(pieces.pop()).toBe("\r");
    expect(pieces.join("")).toBe(text);
    expect(pieces.length).toBeGreaterThan(4);
    for (const piece of pieces) expect(Buffer.byteLength(piece)).toBeLessThanOrEqual(512);
  });

  it("waits until another is over", async () => {
    const { reads } = await boxed({ silent: true });
    const { nudge } = await monitor();
    const first = nudge({ text: "first of all" });
    const second = nudge({ text: "and second" });
    expect(await first).toEqual(notSent("not-echoed"));
    expect(reads.all()).toEqual(["first of all"]);
    await second;
    expect(reads.all()).toEqual(["first of all", "and second"]);
  });

  it("is no work of the agent's when its terminal shows it", async () => {
    const { held, seen } = await prompted("printf 'ready\\n> '; sleep 1000");
    const before = seen.reports.length;
    expect(await seen.nudge()).toEqual(typed);
    const shown = () => seen.reports.slice(before).filter(({ output }) => output.bytes > fact.length);
    const watch = await attach(held);
    await until(() => shown().some(({ attached }) => attached === 1), "a report came after it");
    watch.socket.destroy();
    await until(() => shown().some(({ attached }) => attached === 0), "and another");
    const novel = seen.reports.slice(before).flatMap(({ sights }) => sights.filter((it) => it.kind === "output"));
    expect(novel.filter((it) => it.novel > 0)).toEqual([]);
  });
});

describe("nothing is typed", () => {
  async function refuses(reads: Reads, because: string, changes: Partial<NudgeRequest> = {}): Promise<void> {
    const before = reads.all();
    const { nudge } = await monitor();
    expect(await nudge(changes)).toEqual(notSent(because));
    expect(reads.all()).toEqual(before);
  }

  it("while a person is attached", async () => {
    const { held, reads } = await boxed();
    const person = await attach(held);
    await refuses(reads, "attached");
    const seen = await monitor();
    await leave(person, seen);
    expect(await seen.nudge()).toEqual(typed);
  });

  it("while it asks for permission, though its input is there", async () => {
    const { reads } = await boxed({ says: "Do you want to proceed?\n❯ 1. Yes\n  2. No" });
    await refuses(reads, "asks");
  });

  it("while a menu is open that nobody has described", async () => {
    const { reads } = await boxed({ says: "Choose a theme:\n  1. Dark\n❯ 2. Light\n  3. Dim" });
    await refuses(reads, "asks");
  });

  it.each([
    "Datei ueberschreiben? [Enter] = ja",
    "Press any key to continue",
    "Which one do you want?",
    "┌─ Careful ─────────┐\n│ Delete everything │\n└───────────────────┘",
  ])("into an input below what no pattern knows: %s", async (says) => {
    const { reads } = await boxed({ says });
    await refuses(reads, "asks");
  });

  it("into a program that is not known, though its input looks like one that is", async () => {
    const { reads } = await boxed({}, { family: "generic", watch: prompts });
    await refuses(reads, "no-input");
  });

  it("while a command asks yes or no", async () => {
    const asking = sh("printf 'Delete all? [y/N] '; read x; echo got $x");
    await world.start(world.spec(asking, { family: "aider", watch: prompts }));
    const seen = await monitor();
    await until(() => seen.reports.some(({ sights }) => sights.some(({ kind }) => kind === "asks")), "it asks");
    expect(await seen.nudge()).toEqual(notSent("asks"));
    expect(world.output().toString()).not.toContain("got");
  });

  it("on a line that somebody has begun and left", async () => {
    const { held, reads } = await boxed();
    const person = await attach(held);
    person.type("rm -rf ");
    await until(() => reads.all().length === 1, "it was read");
    await until(() => world.output().includes("rm -rf"), "it is shown");
    await leave(person, await monitor());
    await refuses(reads, "half-typed");
  });

  it("on a line that somebody has begun at a shell's prompt", async () => {
    const { held, seen } = await prompted("printf '> '; read -r line; echo \"got [$line]\"");
    const person = await attach(held);
    person.type("rm -rf ");
    await until(() => world.output().includes("rm -rf"), "it is echoed");
    await leave(person, seen);
    expect(await seen.nudge()).toEqual(notSent("half-typed"));
    expect(world.output().toString()).not.toContain("The last");
  });

  it("into a full-screen program that has something in its box", async () => {
    const { reads } = await boxed({ fullScreen: true, typed: "rm -rf" });
    await refuses(reads, "half-typed");
  });

  it("into a terminal that a command has switched to its other screen", async () => {
    await world.start(
      world.spec(sh("tput -T xterm smcup; printf '❯ '; read x; echo got $x"), { family: "aider", watch: prompts }),
    );
    await until(() => world.output().includes("❯"), "it shows its prompt");
    expect(await (await monitor()).nudge()).toEqual(notSent("full-screen"));
    expect(world.output().toString()).not.toContain("got");
  });

  it("where there is no prompt", async () => {
    await world.start(world.spec(sh("echo working; cat >/dev/null"), { family: "aider", watch: prompts }));
    await until(() => world.output().includes("working"), "it works");
    expect(await (await monitor()).nudge()).toEqual(notSent("no-input"));
    expect(world.output().toString()).toBe("working\r\n");
  });

  it("at a prompt of an unknown command, also when somebody has described it", async () => {
    await world.start(world.spec(sh("printf '❯ '; read x"), { watch: prompts }));
    await until(() => world.output().includes("❯"), "it shows its prompt");
    expect(await (await monitor()).nudge()).toEqual(notSent("no-input"));
    expect(world.output().toString()).toBe("❯ ");
  });

  it("while the rows of its input still change", async () => {
    const { reads } = await boxed({ restless: "always" });
    await refuses(reads, "busy-screen");
  });

  it("after its time", async () => {
    const { reads } = await boxed();
    await refuses(reads, "expired", { notAfter: Date.now() - 1 });
  });

  it("when there are no words in it", async () => {
    const { reads } = await boxed();
    await refuses(reads, "no-input", { text: "\x1b\n " });
  });

  it("when it cannot be written down first that it was", async () => {
    const { reads } = await boxed();
    mkdirSync(world.files().orders);
    await refuses(reads, "no-input");
  });

  it("between pipes", async () => {
    await world.start(world.spec(sh("cat; echo over; sleep 1000"), { io: "pipes", watch: prompts }));
    await until(() => world.output().includes("over"), "it has found nothing to read");
    expect(await (await monitor()).nudge()).toEqual(notSent("no-input"));
  });

  it("for another life, for nobody, or by a monitor that was replaced", async () => {
    const { reads } = await boxed();
    await refuses(reads, "wrong-incarnation", { incarnation: 2 });
    await refuses(reads, "not-registered", { agentId: "nobody" });
    const old = await monitor(1);
    const newer = await monitor(2);
    expect(await newer.nudge()).toEqual(typed);
    expect(await old.nudge()).toEqual(notSent("old-epoch"));
    await until(() => reads.all().length === 2, "one was read");
    expect(reads.all()).toEqual([fact, "\r"]);
  });

  it("when the agent is over, and when its holder is gone", async () => {
    const held = await world.start(world.spec(sh("exit 3"), { watch: prompts }));
    const watcher = await world.connect(held);
    watcher.say({ say: "watch", epoch: 1, after: 0 });
    await watcher.hear("exited");
    watcher.say({
      say: "order",
      key: "late",
      incarnation: 1,
      epoch: 1,
      order: { kind: "nudge", text: fact, notAfter: Date.now() + 60_000 },
    });
    expect((await watcher.hear("carried-out")).outcome).toEqual(notSent("over"));
    kill(held.holder);
    await until(() => !isSame(held.holder), "the holder is gone");
    expect(await (await monitor()).nudge()).toEqual(notSent("over"));
  });

  it("while the agent is being stopped", async () => {
    const { reads } = await boxed({ stubborn: true });
    const { nudge, holders } = await monitor();
    const stopped = holders.stop({ key: "stop", agentId: "a1", incarnation: 1, grace: 3000, unlessAttached: true });
    await until(() => world.output().includes("\x07"), "it was asked to end");
    expect(await nudge()).toEqual(notSent("over"));
    expect(await stopped).toMatchObject({ kind: "stopped", forced: true });
    expect(reads.all()).toEqual([]);
  });

  it("by a holder of an earlier version, which does not know what a nudge is", async () => {
    const held = await world.start(world.spec(sh("sleep 1000")));
    const older = await listenAsOlder(join(world.home, "older"));
    writeFileSync(world.files().holder, JSON.stringify({ ...held, socket: join(world.home, "older") }));
    try {
      expect(await (await monitor()).nudge()).toEqual(notSent("no-input"));
    } finally {
      older.close();
    }
  });
});

describe("Enter is not pressed", () => {
  it("when the terminal shows nothing of what was typed", async () => {
    const { reads } = await boxed({ silent: true });
    expect(await (await monitor()).nudge()).toEqual(notSent("not-echoed"));
    expect(reads.all()).toEqual([fact]);
  });

  it("when a command reads keys without showing them", async () => {
    const { seen } = await prompted("stty raw -echo; printf '> '; cat > keys");
    expect(await seen.nudge()).toEqual(notSent("not-echoed"));
    expect(world.output().toString()).not.toContain("The last");
  });

  it("when typing has opened a menu", async () => {
    const { reads } = await boxed({ opens: "  1. Send it\n❯ 2. Delete everything" });
    expect(await (await monitor()).nudge()).toEqual(notSent("asks"));
    expect(reads.all()).toEqual([fact]);
  });

  it("when the rows it was typed into do not come to rest", async () => {
    const { reads } = await boxed({ restless: "typed" });
    expect(await (await monitor()).nudge()).toEqual(notSent("busy-screen"));
    expect(reads.all()).toEqual([fact]);
  });

  it("when a person has come meanwhile", async () => {
    const { held, reads } = await boxed({ waits: true });
    const { nudge } = await monitor();
    const work = nudge();
    await until(() => reads.all().length === 1, "the text was read");
    await attach(held);
    letGo(world.home);
    expect(await work).toEqual(notSent("attached"));
    expect(reads.all()).toEqual([fact]);
  });

  it("when its time has run out meanwhile", async () => {
    const { reads } = await boxed({ waits: true });
    const { nudge } = await monitor();
    const notAfter = Date.now() + 1500;
    const work = nudge({ notAfter });
    await until(() => Date.now() > notAfter, "its time is over");
    letGo(world.home);
    expect(await work).toEqual(notSent("expired"));
    expect(reads.all()).not.toContain("\r");
  });
});

describe("a nudge with the same key", () => {
  it("is typed once, asked for at the same time, again, and by the next monitor", async () => {
    const { reads } = await boxed();
    const { nudge, holders } = await monitor(1);
    expect(await Promise.all([nudge({ key: "same" }), nudge({ key: "same" })])).toEqual([typed, typed]);
    expect(await nudge({ key: "same", text: "something else" })).toEqual(typed);
    await holders.close();
    expect(await (await monitor(2)).nudge({ key: "same", notAfter: 0 })).toEqual(typed);
    await until(() => reads.all().includes("\r"), "it was read");
    expect(reads.all()).toEqual([fact, "\r"]);
  });

  it("is typed once when whoever asked hung up before the answer came", async () => {
    const { held, reads } = await boxed({ waits: true });
    const first = await world.connect(held);
    const order = { kind: "nudge" as const, text: fact, notAfter: Date.now() + 60_000 };
    first.say({ say: "order", key: "same", incarnation: 1, epoch: 1, order });
    await until(() => reads.all().length === 1, "the text was read");
    first.socket.destroy();
    const again = (await monitor()).nudge({ key: "same" });
    letGo(world.home);
    expect(await again).toEqual(typed);
    await until(() => reads.all().includes("\r"), "Enter was read");
    expect(reads.all()).toEqual([fact, "\r"]);
  });

  it("was sent, though its holder died before anybody heard of it", async () => {
    const { held } = await boxed();
    const { nudge } = await monitor();
    expect(await nudge({ key: "same" })).toEqual(typed);
    kill(held.holder);
    await until(() => !isSame(held.holder), "the holder is gone");
    expect(await nudge({ key: "same" })).toEqual(typed);
  });

  it("is not typed again when its holder died over it", async () => {
    const { held, reads } = await boxed({ waits: true });
    const { nudge } = await monitor();
    const work = nudge({ key: "same" });
    await until(() => reads.all().length === 1, "the text was read");
    kill(held.holder);
    await expect(work).rejects.toMatchObject({ code: "holder-gone" });
    if (held.agent !== null) kill(held.agent);
    await until(() => !isSame(held.holder), "the holder is gone");
    expect(await nudge({ key: "same" })).toEqual(notSent("not-echoed"));
    expect(await nudge({ key: "other", incarnation: 2 })).toEqual(notSent("wrong-incarnation"));
    letGo(world.home);
    await boxed({}, { incarnation: 2 });
    expect(await nudge({ key: "same", incarnation: 2 })).toEqual(notSent("not-echoed"));
    expect(reads.all()).toEqual([fact]);
  });
});

/** Answers as holders did before there were nudges. */
async function listenAsOlder(path: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on(
      "data",
      createFrameReader(() => socket.end(jsonFrame({ say: "misunderstood", problem: "no message of ours" }))),
    );
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return server;
}
