import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type Client, until } from "../holding.test-support.ts";
import { freshWorld } from "../world-of-each.test-support.ts";
import { type CodexAtWork, makeCodexAtWork } from "./codex-at-work.test-support.ts";
import {
  type CodexServer,
  linkSocket,
  type Manners,
  startCodexServer,
  thread,
  turn,
} from "./codex-server.test-support.ts";
import { reportsOf, sightsOf } from "./watched-program.test-support.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const world = freshWorld();
let server: CodexServer | null = null;
afterEach(async () => {
  await server?.stop();
  server = null;
});

const readBy = (client: Client): string[] =>
  sightsOf(client).flatMap((sight) => (sight.kind === "nudge-read" ? [sight.nudge] : []));

interface AtWork {
  readonly codex: CodexAtWork;
  readonly client: Client;
  readonly folder: string;
}

/** A holder of Codex in the middle of a turn, which its server has. */
async function startCodex(manners: Manners = {}): Promise<AtWork> {
  const folder = join(realpathSync(world.home), "work");
  mkdirSync(folder, { recursive: true });
  const codex = makeCodexAtWork(world.home);
  mkdirSync(join(world.home, "daemon"), { mode: 0o700 });
  const socket = join(world.home, "daemon/s");
  server = await startCodexServer(socket, manners);
  linkSocket(codex.home, socket);
  const spec = world.spec([process.execPath, codex.file], { cwd: folder, family: "codex" });
  const held = await world.start({ ...spec, env: { ...spec.env, CODEX_HOME: codex.home } });
  const client = await world.connect(held);
  client.say({ say: "watch", epoch: 1, after: 0 });
  codex.keep("session_meta", { id: thread, cwd: folder, cli_version: "0", thread_source: "user" });
  codex.keep("event_msg", { type: "task_started", turn_id: turn });
  await client.hear("report", ({ report }) => report.input === "steer");
  return { codex, client, folder };
}

async function nudge(
  client: Client,
  key: string,
  text = "FACT: The same call 5 times.",
  notAfter = Date.now() + 60_000,
) {
  client.say({ say: "order", key, incarnation: 1, epoch: 1, order: { kind: "nudge", text, notAfter } });
  return (await client.hear("carried-out", (message) => message.key === key)).outcome;
}

async function stop(client: Client) {
  client.say({ say: "order", key: "stop", incarnation: 1, epoch: null, order: { kind: "stop", graceMs: 5000 } });
  return (await client.hear("carried-out", (message) => message.key === "stop")).outcome;
}

const sent = { kind: "sent", channel: "steer", echoed: false };

describe("a holder of Codex in the middle of a turn", () => {
  it("puts a nudge into the turn while somebody types, and sees it read when the model goes on with it", async () => {
    const { codex, client } = await startCodex();
    client.say({ say: "attach", size: { cols: 80, rows: 24 } });
    await client.hear("attached");
    client.type("half a thou");
    expect(await nudge(client, "n1")).toEqual(sent);
    expect(readBy(client)).toEqual([]);
    codex.keepSteered("n1", "FACT: The same call 5 times.");
    await until(() => readBy(client).length > 0, "it is read");
    expect(readBy(client)).toEqual(["n1"]);
  });

  it("puts it there once, however often it is told to", async () => {
    const { client } = await startCodex();
    await Promise.all([nudge(client, "n1"), nudge(client, "n1")]);
    expect(await nudge(client, "n1")).toEqual(sent);
    expect(server?.steered).toHaveLength(1);
    expect(server?.connections().all).toBe(1);
  });

  it("says that it was refused, and goes by the terminal from then on, until the next turn", async () => {
    const { codex, client } = await startCodex({ active: "another" });
    expect(await nudge(client, "n1")).toEqual({ kind: "not-sent", because: "refused" });
    expect(await nudge(client, "n1")).toEqual({ kind: "not-sent", because: "refused" });
    await until(() => reportsOf(client).at(-1)?.input === "terminal", "another way is taken");
    codex.keep("event_msg", { type: "task_complete", turn_id: turn });
    codex.keep("event_msg", { type: "task_started", turn_id: "another" });
    await until(() => reportsOf(client).at(-1)?.input === "steer", "the next turn can be spoken to");
    expect(await nudge(client, "n2")).toEqual(sent);
    expect(server?.steered.map(({ clientUserMessageId }) => clientUserMessageId)).toEqual(["n1", "n2"]);
  });

  it("goes by the terminal once its turn is over", async () => {
    const { codex, client } = await startCodex();
    codex.keep("event_msg", { type: "turn_aborted", turn_id: turn, reason: "interrupted" });
    await until(() => reportsOf(client).at(-1)?.input === "terminal", "its turn is over");
    await nudge(client, "n1");
    expect(server?.steered).toEqual([]);
  });

  it("does not say what is withdrawn while it is brought", async () => {
    let goOn: (value?: unknown) => void = () => {};
    const hesitates = new Promise((resolve) => {
      goOn = resolve;
    });
    const { client } = await startCodex({ hesitates });
    const given = nudge(client, "n1");
    await until(() => server?.methods.includes("initialize") === true, "its server is spoken to");
    const order = { kind: "nudge", text: "FACT: The same call 5 times.", notAfter: 0 } as const;
    client.say({ say: "order", key: "n1", incarnation: 1, epoch: 1, order });
    // Orders are heard one after the other; this one waits for nothing.
    const later = { kind: "contain", how: "let-go", reason: "", decidedAt: 1, lastsMs: 1 } as const;
    client.say({ say: "order", key: "later", incarnation: 1, epoch: 1, order: later });
    await client.hear("carried-out", ({ key }) => key === "later");
    goOn();
    expect(await given).toEqual({ kind: "not-sent", because: "no-input" });
    expect(server?.steered).toEqual([]);
  });

  it("breaks its turn off once it is stopped, in a server that is not of its tree", async () => {
    const { client } = await startCodex();
    expect(await stop(client)).toMatchObject({ kind: "stopped", sharedTurn: "interrupted" });
    expect(server?.interrupted).toEqual([turn]);
  });

  it("says that its turn may go on when that could not be broken off", async () => {
    const { client } = await startCodex({ interrupt: "refuses" });
    expect(await stop(client)).toMatchObject({ kind: "stopped", sharedTurn: "may-go-on" });
  });

  it("has nothing to say of a server that it has no turn in", async () => {
    const { client } = await startCodex({ threads: [] });
    expect(await stop(client)).not.toHaveProperty("sharedTurn");
    expect(server?.interrupted).toEqual([]);
  });

  it("does not say what has expired", async () => {
    const { client } = await startCodex();
    expect(await nudge(client, "n1", "too late", Date.now() - 1)).toEqual({ kind: "not-sent", because: "expired" });
    expect(server?.steered).toEqual([]);
  });

  it("does not take its own words on the screen for something new of the agent's", async () => {
    const { client, folder } = await startCodex();
    const text = "FACT: The same call with the same result 5 times.";
    expect(await nudge(client, "n1", text)).toEqual(sent);
    writeFileSync(join(folder, "show"), `› ${text}\n\n• All tests of the parser pass now.\n`);
    const novel = () => sightsOf(client).map((sight) => (sight.kind === "output" ? sight.novel : 0));
    const lines = () => novel().reduce((sum, one) => sum + one, 0);
    await until(() => lines() > 0, "something new is on the screen");
    expect(lines()).toBe(1);
  });
});
