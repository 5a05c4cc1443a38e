import { writeFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { interruptCodex } from "./call-codex.ts";
import { codexServerOfEach, type LoadedThread, type Manners, thread, turn } from "./codex-server.test-support.ts";

const codex = codexServerOfEach();

async function interrupt(manners: Manners = {}, conversation: string | null = thread) {
  await codex.start(manners);
  return interruptCodex({ server: codex.at(), thread: conversation, cwd: "/work" });
}

const threadOf = (id: string, turns: string[], more: Partial<LoadedThread> = {}): LoadedThread => ({
  ...{ id, sessionId: id, cwd: "/work", turns },
  ...more,
});

describe("the turn of a stopped agent in a server of Codex that others use", () => {
  it("is broken off, with what it left running in the background, and nobody else's is", async () => {
    const threads = [threadOf("another", ["theirs"]), threadOf(thread, [turn])];
    expect(await interrupt({ threads })).toBe("interrupted");
    expect(codex.server()?.interrupted).toEqual([turn]);
    expect(codex.server()?.cleaned).toEqual([thread]);
  });

  it("is broken off with those of the conversations that were begun from it, and with what was queued", async () => {
    const child = threadOf("child", ["t-child"], { sessionId: thread });
    expect(await interrupt({ threads: [threadOf(thread, [turn, "queued"]), child] })).toBe("interrupted");
    expect(codex.server()?.interrupted).toEqual([turn, "t-child", "queued"]);
    expect(codex.server()?.cleaned).toEqual([thread, "child"]);
  });

  it("is none when its conversation rests or is not there any more; what it left in the background is ended", async () => {
    expect(await interrupt({ threads: [threadOf(thread, []), threadOf("another", ["theirs"])] })).toBe("none");
    expect(codex.server()?.cleaned).toEqual([thread]);
    await codex.server()?.stop();
    expect(await interrupt({ threads: [threadOf("another", ["theirs"])] })).toBe("none");
    expect(codex.server()?.interrupted).toEqual([]);
    expect(codex.server()?.cleaned).toEqual([]);
  });

  it("is left alone when nobody knows which it is, and may go on if one works in the same folder", async () => {
    expect(await interrupt({ threads: [threadOf("one", ["t"], { cwd: "/elsewhere" })] }, null)).toBe("none");
    await codex.server()?.stop();
    expect(await interrupt({ threads: [threadOf("one", ["t"])] }, null)).toBe("may-go-on");
    expect(codex.server()?.interrupted).toEqual([]);
    expect(codex.server()?.cleaned).toEqual([]);
  });

  it.each<[string, Manners]>([
    ["says no", { interrupt: "refuses" }],
    ["says yes and goes on", { interrupt: "goes-on" }],
    ["hangs up", { interrupt: "hangs-up" }],
    ["does not want to be spoken to", { initialize: '{"id":1,"error":{}}' }],
    ["answers with garbage", { initialize: "{" }],
  ])("may go on when the server %s", async (_, manners) => {
    expect(await interrupt(manners)).toBe("may-go-on");
    await vi.waitFor(() => expect(codex.server()?.connections().open).toBe(0), 30_000);
  });

  it("is waited for no longer than a while", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const silent = interrupt({ initialize: null });
      await vi.waitFor(() => expect(codex.server()?.methods).toContain("initialize"), 30_000);
      vi.advanceTimersByTime(8000);
      expect(await silent).toBe("may-go-on");
    } finally {
      vi.useRealTimers();
    }
  });

  it("is over when it ends by itself, though the server never answers then", async () => {
    const threads = [threadOf(thread, [turn])];
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const over = interrupt({ threads, interrupt: "silent" });
      await vi.waitFor(() => expect(codex.server()?.interrupted).toEqual([turn]), 30_000);
      threads[0]?.turns.shift();
      vi.advanceTimersByTime(2000);
      expect(await over).toBe("interrupted");
    } finally {
      vi.useRealTimers();
    }
  });

  it("is nobody's matter where nobody listens", async () => {
    writeFileSync(codex.at("file"), "");
    for (const name of ["file", "nothing"])
      expect(await interruptCodex({ server: codex.at(name), thread, cwd: "/work" })).toBeNull();
  });
});
