import { beforeEach, describe, expect, it } from "vitest";
import { nudgeOf } from "../nudge/nudge-of.test-support.ts";
import type { Nudge } from "../nudge/type-nudge.ts";
import { codexServerOfEach, thread, turn } from "./codex-server.test-support.ts";
import type { CodexTurn } from "./find-codex-turn.ts";
import { nudgeBySteer, type SteerNudges } from "./nudge-by-steer.ts";

const codex = codexServerOfEach();
let open: CodexTurn | null;
let log: string[];
let catchUp: () => void;
let nudges: SteerNudges;
beforeEach(() => {
  open = { server: codex.at(), thread, turn };
  log = [];
  catchUp = () => {};
  nudges = nudgeBySteer(
    () => open,
    () => catchUp(),
    (fault) => log.push(fault),
  );
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
    await codex.start();
    expect(await nudges.give(nudgeOf())).toEqual(sent);
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
    await codex.start({
      steered({ clientUserMessageId }) {
        nudges.heard(taken(clientUserMessageId));
        nudges.heard(answer);
        early = nudges.read();
      },
    });
    expect(await nudges.give(nudgeOf())).toEqual(sent);
    expect(early).toBeNull();
    expect(nudges.read()).toBe("a/1/nudge/1");
  });

  it("is possible while a turn is under way, and not after the agent is over", () => {
    expect(nudges.possible()).toBe(true);
    open = null;
    expect(nudges.possible()).toBe(false);
    open = { server: codex.at(), thread, turn };
    nudges.end();
    expect(nudges.possible()).toBe(false);
  });

  it("is not sent when the server refuses it, and the next one is not brought to the same turn", async () => {
    const { steered } = await codex.start({ active: "another" });
    expect(await nudges.give(nudgeOf())).toEqual(notSent("refused"));
    expect(nudges.possible()).toBe(false);
    expect(await nudges.give(nudgeOf({ id: "a/1/nudge/2" }))).toBeNull();
    expect(steered).toHaveLength(1);
    expect(log).toEqual(["Codex's server could not be used: it said no"]);
    nudges.heard(taken("a/1/nudge/1"));
    nudges.heard(answer);
    expect(nudges.read()).toBeNull();
    open = { server: codex.at(), thread, turn: "another" };
    expect(await nudges.give(nudgeOf({ id: "a/1/nudge/3" }))).toEqual(sent);
  });

  it("may have reached it when the answer is garbage, so it is not said that it was", async () => {
    await codex.start({ steer: "garbage" });
    expect(await nudges.give(nudgeOf())).toEqual(notSent("not-echoed"));
    expect(nudges.possible()).toBe(false);
  });

  it("is left to another way when nobody is there to be spoken to, and nothing was begun", async () => {
    let begun = 0;
    const begin = () => ++begun > 0;
    expect(await nudges.give(nudgeOf({ begin }))).toBeNull();
    expect(begun).toBe(0);
    expect(nudges.possible()).toBe(false);
  });

  it.each<[string, string, Partial<Nudge>]>([
    ["its time is up", "expired", { notAfter: 0 }],
    ["it was withdrawn, or could not be written down", "no-input", { begin: () => false }],
  ])("is not sent when %s by the time it could be", async (_, because, over) => {
    const { steered } = await codex.start();
    expect(await nudges.give(nudgeOf(over))).toEqual(notSent(because));
    expect(steered).toEqual([]);
    expect(nudges.possible()).toBe(true);
  });

  it("is not sent into a turn that its file says is over by then, nor begun", async () => {
    const { steered } = await codex.start();
    catchUp = () => {
      open = null;
    };
    let begun = 0;
    expect(await nudges.give(nudgeOf({ begin: () => ++begun > 0 }))).toEqual(notSent("no-input"));
    expect(steered).toEqual([]);
    expect(begun).toBe(0);
  });

  it("is not sent when the agent ends while it is brought", async () => {
    const { steered } = await codex.start();
    const given = nudges.give(nudgeOf());
    nudges.end();
    expect(await given).toEqual(notSent("over"));
    expect(steered).toEqual([]);
  });
});
