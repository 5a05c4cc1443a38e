import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Nudge } from "../nudge/type-nudge.ts";
import { type CodexServer, type Manners, startCodexServer, thread, turn } from "./codex-server.test-support.ts";
import type { CodexTurn } from "./find-codex-turn.ts";
import { nudgeBySteer, type SteerNudges } from "./nudge-by-steer.ts";

let folder: string;
let server: CodexServer | null;
let open: CodexTurn | null;
let log: string[];
let catchUp: () => void;
let nudges: SteerNudges;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-steer-"));
  server = null;
  open = { server: join(folder, "s"), thread, turn };
  log = [];
  catchUp = () => {};
  nudges = nudgeBySteer(
    () => open,
    () => catchUp(),
    (fault) => log.push(fault),
  );
});
afterEach(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const runs = async (manners: Manners = {}): Promise<CodexServer> => {
  server = await startCodexServer(join(folder, "s"), manners);
  return server;
};
const nudge = (over: Partial<Nudge> = {}): Nudge => ({
  id: "a/1/nudge/1",
  whenIdle: false,
  text: "FACT: The last 5 calls were identical.",
  notAfter: Date.now() + 60_000,
  begin: () => true,
  ...over,
});
const notSent = (because: string) => ({ kind: "not-sent", because });
const sent = { kind: "sent", channel: "steer", echoed: false };
const taken = (id: string) =>
  JSON.stringify({
    type: "event_msg",
    payload: { type: "item_completed", item: { type: "UserMessage", client_id: id } },
  });
const answer = JSON.stringify({ type: "response_item", payload: { type: "function_call", call_id: "c" } });

describe("a nudge into a turn of Codex", () => {
  it("is sent when the server has taken it, and read when the model has answered with it, which is told once", async () => {
    await runs();
    expect(await nudges.give(nudge())).toEqual(sent);
    nudges.heard(answer);
    expect(nudges.read()).toBeNull();
    nudges.heard(taken("a/1/nudge/1"));
    expect(nudges.read()).toBeNull();
    nudges.heard(answer);
    expect(nudges.read()).toBe("a/1/nudge/1");
    nudges.heard(answer);
    expect(nudges.read()).toBeNull();
  });

  it("is not told as read before it is sent, however early its file shows it", async () => {
    let early: string | null = "not looked";
    await runs({
      steered({ clientUserMessageId }) {
        nudges.heard(taken(clientUserMessageId));
        nudges.heard(answer);
        early = nudges.read();
      },
    });
    expect(await nudges.give(nudge())).toEqual(sent);
    expect(early).toBeNull();
    expect(nudges.read()).toBe("a/1/nudge/1");
  });

  it("is possible while a turn is under way, and not after the agent is over", () => {
    expect(nudges.possible()).toBe(true);
    open = null;
    expect(nudges.possible()).toBe(false);
    open = { server: join(folder, "s"), thread, turn };
    nudges.end();
    expect(nudges.possible()).toBe(false);
  });

  it("is not sent when the server refuses it, and the next one is not brought to the same turn", async () => {
    const { steered } = await runs({ active: "another" });
    expect(await nudges.give(nudge())).toEqual(notSent("refused"));
    expect(nudges.possible()).toBe(false);
    expect(await nudges.give(nudge({ id: "a/1/nudge/2" }))).toBeNull();
    expect(steered).toHaveLength(1);
    expect(log).toEqual(["Codex's server could not be used: it said no"]);
    nudges.heard(taken("a/1/nudge/1"));
    nudges.heard(answer);
    expect(nudges.read()).toBeNull();
    open = { server: join(folder, "s"), thread, turn: "another" };
    expect(await nudges.give(nudge({ id: "a/1/nudge/3" }))).toEqual(sent);
  });

  it("may have reached it when the answer is garbage, so it is not said that it was", async () => {
    await runs({ steer: "garbage" });
    expect(await nudges.give(nudge())).toEqual(notSent("not-echoed"));
    expect(nudges.possible()).toBe(false);
  });

  it("is left to another way when nobody is there to be spoken to, and nothing was begun", async () => {
    let begun = 0;
    const begin = () => ++begun > 0;
    expect(await nudges.give(nudge({ begin }))).toBeNull();
    expect(begun).toBe(0);
    expect(nudges.possible()).toBe(false);
  });

  it.each<[string, string, Partial<Nudge>]>([
    ["its time is up", "expired", { notAfter: 0 }],
    ["it was withdrawn, or could not be written down", "no-input", { begin: () => false }],
  ])("is not sent when %s by the time it could be", async (_, because, over) => {
    const { steered } = await runs();
    expect(await nudges.give(nudge(over))).toEqual(notSent(because));
    expect(steered).toEqual([]);
    expect(nudges.possible()).toBe(true);
  });

  it("is not sent into a turn that its file says is over by then, nor begun", async () => {
    const { steered } = await runs();
    catchUp = () => {
      open = null;
    };
    let begun = 0;
    expect(await nudges.give(nudge({ begin: () => ++begun > 0 }))).toEqual(notSent("no-input"));
    expect(steered).toEqual([]);
    expect(begun).toBe(0);
  });

  it("is not sent when the agent ends while it is brought", async () => {
    const { steered } = await runs();
    const given = nudges.give(nudge());
    nudges.end();
    expect(await given).toEqual(notSent("over"));
    expect(steered).toEqual([]);
  });
});
