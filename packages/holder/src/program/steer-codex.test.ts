import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { steerCodex } from "./call-codex.ts";
import { codexServerOfEach, type Manners, thread, turn } from "./codex-server.test-support.ts";

const codex = codexServerOfEach();

const words = { id: "a/1/nudge/1", text: "FACT: The same call 5 times.\n\nWhat do you need?" };

async function steer(manners: Manners = {}, begin: Parameters<typeof steerCodex>[2] = () => null) {
  await codex.start(manners);
  return steerCodex({ server: codex.at(), thread, turn }, words, begin);
}

describe("words for a turn of Codex", () => {
  it("go to its server with their name, and are steered when it says into which turn they went", async () => {
    expect(await steer()).toEqual({ kind: "steered" });
    const input = [{ type: "text", text: words.text, text_elements: [] }];
    const sent = { threadId: thread, expectedTurnId: turn, clientUserMessageId: words.id, input };
    expect(codex.server()?.steered).toEqual([sent]);
    expect(codex.server()?.methods).toEqual(["initialize", "initialized", "thread/loaded/list", "turn/steer"]);
  });

  it("leave no connection behind, however it went", async () => {
    for (const manners of [{}, { active: "another" }, { steer: "garbage" }, { loaded: [] }] satisfies Manners[]) {
      await steer(manners);
      await vi.waitFor(() => expect(codex.server()?.connections()).toEqual({ all: 1, open: 0 }), 30_000);
      await codex.server()?.stop();
    }
  });

  it("are refused when another turn runs by now", async () => {
    expect(await steer({ active: "another" })).toEqual({ kind: "refused", because: "it said no" });
    expect(codex.server()?.steered).toHaveLength(1);
  });

  const long = JSON.stringify({ id: 1, result: "x".repeat(300_000) });
  it.each<[string, Manners, string]>([
    ["has another conversation", { loaded: ["another"] }, "the conversation is not there"],
    ["answers with garbage", { initialize: "{" }, "it talks nonsense"],
    ["answers with a list", { initialize: "[]" }, "it talks nonsense"],
    ["answers with more than anybody reads", { initialize: long }, "Max payload size exceeded"],
    ["answers neither yes nor no", { initialize: '{"id":1}' }, "it talks nonsense"],
    ["does not want to be spoken to", { initialize: '{"id":1,"error":{}}' }, "it does not want to be spoken to"],
    ["never comes to the point", { notes: 200 }, "it talks nonsense"],
  ])("are not said to a server that %s", async (_, manners, because) => {
    const begin = vi.fn(() => null);
    expect(await steer(manners, begin)).toEqual({ kind: "unreachable", because });
    expect(begin).not.toHaveBeenCalled();
    expect(codex.server()?.steered).toEqual([]);
  });

  it.each<[string, string | Buffer]>([
    ["garbage", "no json"],
    ["bytes", Buffer.from(JSON.stringify({ id: 3, result: { turnId: turn } }))],
    ["another turn than the one that was meant", '{"id":3,"result":{"turnId":"another"}}'],
    ["something without a turn", '{"id":3,"result":null}'],
  ])("are nobody knows where when the answer is %s", async (_, answer) => {
    expect(await steer({ steer: answer })).toMatchObject({ kind: "unanswered" });
  });

  it("are not waited for longer than a while when nobody answers", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const silent = steer({ initialize: null });
      await vi.waitFor(() => expect(codex.server()?.methods).toContain("initialize"), 30_000);
      vi.advanceTimersByTime(5000);
      expect(await silent).toEqual({ kind: "unreachable", because: "it does not answer" });
      await codex.server()?.stop();
      const unanswered = steer({ steer: null });
      await vi.waitFor(() => expect(codex.server()?.steered).toHaveLength(1), 30_000);
      vi.advanceTimersByTime(10_000);
      expect(await unanswered).toEqual({ kind: "unanswered", because: "it does not answer" });
    } finally {
      vi.useRealTimers();
    }
  });

  it("are held back when they are not to be said any more by the time they could be", async () => {
    expect(await steer({}, () => "expired")).toEqual({ kind: "held-back", because: "expired" });
    expect(codex.server()?.methods).not.toContain("turn/steer");
  });

  it("find nobody behind a file, a socket that nobody listens at, or one that speaks something else", async () => {
    const nobody = { kind: "unreachable" };
    writeFileSync(codex.at("file"), "");
    const ask = (name: string) => steerCodex({ server: codex.at(name), thread, turn }, words, () => null);
    expect(await ask("file")).toMatchObject(nobody);
    expect(await ask("nothing")).toMatchObject(nobody);
    const other = createServer((client) => client.resume().end("220 mail\r\n"));
    await new Promise<void>((listening) => other.listen(codex.at("other"), listening));
    expect(await ask("other")).toMatchObject(nobody);
    await new Promise((closed) => other.close(closed));
  });
});
