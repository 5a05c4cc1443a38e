import { Fault, hours } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { createMemoryDisk, type MemoryDisk } from "../adapters/store-memory/memory-disk.ts";
import { taskWorld } from "../tasks/task-world.test-support.ts";
import { answerOnce, type Keep } from "./answer-once.ts";
import type { Draft } from "./group-commit.ts";

/** On the real group commit and the store in memory; of the one before it, what lies on the disk is left. */
async function begin(disk: MemoryDisk = createMemoryDisk()) {
  const world = await taskWorld({ disk });
  const { commits, readClock, pass, store } = world;
  const once = answerOnce({ commits, readClock, resumption: await store.resume() });
  let runs = 0;
  const run = async (keep: Keep): Promise<string> => {
    runs += 1;
    const answer = `answer ${runs}`;
    keep.answer(answer);
    await commits.saved();
    return answer;
  };
  const ask = (key: string, request = "nudge w", principal = "owner") => once({ principal, key, request }, run);
  const kept = () => [...disk.marks.keys()].filter((mark) => mark.startsWith("answered/"));
  const goesDown = async (): Promise<MemoryDisk> => {
    await store.close();
    return disk;
  };
  return { ask, once, pass, kept, goesDown, saved: world.saved, runs: () => runs };
}

function withoutDisk(saved: () => Promise<void>) {
  const marks: Record<string, string | null> = {};
  const commits = { draft: () => ({ marks }) as Draft, saved, down: () => null };
  return { marks, once: answerOnce({ commits, readClock: () => ({ time: 0 }), resumption: { marks: {} } }) };
}

describe("a request with a key", () => {
  it("is obeyed once and answered the same each time, also when both come at once", async () => {
    const { ask, runs } = await begin();
    expect(await Promise.all([ask("k"), ask("k")])).toEqual(["answer 1", "answer 1"]);
    expect(await ask("k")).toBe("answer 1");
    expect(await ask("other")).toBe("answer 2");
    expect(runs()).toBe(2);
  });

  it("is obeyed once also while it is still being obeyed, and nothing else is asked under it meanwhile", async () => {
    const { once } = await begin();
    const asked = { principal: "owner", key: "k", request: "x" };
    const finish: (() => void)[] = [];
    const run = async (keep: Keep): Promise<string> => {
      await new Promise<void>((resolve) => finish.push(resolve));
      keep.answer("taken");
      return "taken";
    };
    const both = [once(asked, run), once(asked, run)];
    const other = once({ ...asked, request: "y" }, run).catch(({ code }: Fault) => code);
    expect(finish).toHaveLength(1);
    for (const one of finish) one();
    expect(await Promise.all([...both, other])).toEqual(["taken", "taken", "key-reused"]);
  });

  it("is not answered again while the first answer is not on disk", async () => {
    const fault = new Fault("store-unavailable", "no room", { retryable: true });
    const { once } = withoutDisk(() => Promise.reject(fault));
    const asked = { principal: "owner", key: "k", request: "x" };
    const run = async (keep: Keep) => keep.answer("taken");
    await once(asked, run);
    await expect(once(asked, run)).rejects.toBe(fault);
  });

  it("of many senders pushes out the oldest, so that what is kept is bounded", async () => {
    const { once, marks } = withoutDisk(async () => undefined);
    for (let n = 0; n <= 2000; n++)
      await once({ principal: `agent:${n}`, key: "k", request: "x" }, async (keep) => keep.answer(n));
    expect(Object.values(marks).filter((mark) => mark !== null)).toHaveLength(2000);
  });

  it("is answered the same by the monitor after this one", async () => {
    const first = await begin();
    await first.ask("k");
    const second = await begin(await first.goesDown());
    expect(await second.ask("k")).toBe("answer 1");
    expect(second.runs()).toBe(0);
  });

  it("cannot ask for something else under it, before and after a restart; somebody else's key is another", async () => {
    const first = await begin();
    await first.ask("k");
    await expect(first.ask("k", "nudge v")).rejects.toMatchObject({ code: "key-reused" });
    expect(await first.ask("k", "nudge v", "agent:w")).toBe("answer 2");
    const second = await begin(await first.goesDown());
    await expect(second.ask("k", "nudge v")).rejects.toMatchObject({ code: "key-reused" });
  });

  it("that was refused is tried anew", async () => {
    const { once } = await begin();
    const asked = { principal: "owner", key: "k", request: "x" };
    await expect(once(asked, () => Promise.reject(new Error("refused")))).rejects.toThrow("refused");
    expect(await once(asked, async () => "taken")).toBe("taken");
  });

  it("of which a part was taken goes on there", async () => {
    const first = await begin();
    const asked = { principal: "agent:w", key: "k", request: "250 steps" };
    const died = first.once(asked, async (keep) => {
      keep.progress(100);
      throw new Error("the machine went down");
    });
    await expect(died).rejects.toThrow();
    await first.saved();
    const second = await begin(await first.goesDown());
    const before = await second.once(asked, async (keep) => keep.before);
    expect(before).toBe(100);
  });

  it("is forgotten after a day, and the oldest of many of the same sender before", async () => {
    const { ask, pass, kept } = await begin();
    await ask("first", "x", "agent:w");
    for (let n = 0; n < 205; n++) await ask(`key-${n}`, "x", "owner");
    expect(await ask("first", "x", "agent:w")).toBe("answer 1");
    expect(kept()).toHaveLength(201);
    pass(hours(24) + 1);
    expect(await ask("key-204", "x", "owner")).toBe("answer 207");
    expect(kept()).toHaveLength(1);
  });

  it("is not pushed out by the many of agents: not the owner's, and not that of an agent with few", async () => {
    const { ask, kept } = await begin();
    await ask("first", "x", "owner");
    await ask("first", "x", "agent:quiet");
    for (let agent = 0; agent < 11; agent++)
      for (let n = 0; n < 200; n++) await ask(`key-${n}`, "x", `agent:busy-${agent}`);
    expect(await ask("first", "x", "owner")).toBe("answer 1");
    expect(await ask("first", "x", "agent:quiet")).toBe("answer 2");
    expect(kept()).toHaveLength(2001);
  });
});
