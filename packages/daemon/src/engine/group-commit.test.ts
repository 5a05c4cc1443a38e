import { Fault } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { openMemoryStore } from "../adapters/store-memory/open-memory-store.ts";
import { keepAuditTrail } from "../audit/audit-trail.ts";
import type { Commit, SavedSignal, Store } from "../ports/store.ts";
import { type Draft, groupCommits } from "./group-commit.ts";
import { handWoundTimers } from "./hand-wound-timers.test-support.ts";

const beat = (id: number): SavedSignal => ({ id, agentNo: 1, at: id, time: id, kind: "heartbeat", body: "{}" });

/** The store in memory behind a disk that can be full, or slow. */
async function world() {
  const time = handWoundTimers();
  const inner = await openMemoryStore();
  const commits: number[][] = [];
  const told: string[] = [];
  const waiting: (() => void)[] = [];
  let fault: Error | null = null;
  let slow = false;
  let underway = 0;
  let most = 0;
  const store: Store = {
    ...inner,
    async commit(commit) {
      underway += 1;
      most = Math.max(most, underway);
      try {
        commits.push(commit.signals.map(({ id }) => id));
        if (slow) await new Promise<void>((resolve) => waiting.push(resolve));
        if (fault !== null) throw fault;
        await inner.commit(commit);
      } finally {
        underway -= 1;
      }
    },
  };
  const ids = (commit: Commit) => commit.signals.map(({ id }) => id).join(",");
  const group = groupCommits(store, 0, time.timers, {
    committed: (commit) => void told.push(`committed ${ids(commit)}`),
    wentDown: ({ code }) => void told.push(`down ${code}`),
    cameBack: () => void told.push("back"),
  });
  return {
    group,
    time,
    commits,
    told,
    most: () => most,
    breaks: (error: Error = new Fault("store-unavailable", "disk full", { retryable: true })) => {
      fault = error;
    },
    mends: () => {
      fault = null;
    },
    isSlow: (is = true) => {
      slow = is;
    },
    async disk() {
      for (const resolve of waiting.splice(0)) resolve();
      await time.settle();
    },
    /** A beat that wants to know when it is on disk. */
    take(id: number) {
      group.draft().signals.push(beat(id));
      const outcome = { state: "waiting" };
      group.saved().then(
        () => {
          outcome.state = "saved";
        },
        (fault: Fault) => {
          outcome.state = fault.code;
        },
      );
      return outcome;
    },
    read: inner,
    kept: async () => (await inner.readBeats(1, 99)).map(({ id }) => id).toReversed(),
  };
}

describe("group commit", () => {
  it("writes all that came in during one turn in one commit, and tells everyone afterwards", async () => {
    const { take, time, commits, kept } = await world();
    const beats = [take(1), take(2), take(3)];
    expect(commits).toEqual([]);
    await time.turn();
    expect(commits).toEqual([[1, 2, 3]]);
    expect(beats.map(({ state }) => state)).toEqual(["saved", "saved", "saved"]);
    expect(await kept()).toEqual([1, 2, 3]);
  });

  it("has one commit at a time under way; what comes meanwhile is the next", async () => {
    const { take, time, commits, isSlow, disk, most, kept } = await world();
    isSlow();
    const first = take(1);
    await time.turn();
    const others = [take(2), take(3)];
    await time.turn();
    expect(commits).toEqual([[1]]);
    expect(first.state).toBe("waiting");
    await disk();
    expect(first.state).toBe("saved");
    expect(others.map(({ state }) => state)).toEqual(["waiting", "waiting"]);
    await time.turn();
    await disk();
    expect(commits).toEqual([[1], [2, 3]]);
    expect(most()).toBe(1);
    expect(await kept()).toEqual([1, 2, 3]);
  });

  it("starts on a crowd before the turn is over, and on the rest only when that is on disk", async () => {
    const { take, time, commits, isSlow, disk, most, kept } = await world();
    isSlow();
    const crowd = Array.from({ length: 25 }, (_, i) => i + 1);
    for (const id of crowd) take(id);
    expect(commits).toEqual([crowd.slice(0, 24)]);
    await time.turn();
    expect(commits).toHaveLength(1);
    await disk();
    await time.turn();
    await disk();
    expect(most()).toBe(1);
    expect(await kept()).toEqual(crowd);
  });

  it("nobody hears of a beat before it is on disk", async () => {
    const { take, time, isSlow, disk, told } = await world();
    isSlow();
    take(1);
    await time.turn();
    expect(told).toEqual([]);
    await disk();
    expect(told).toEqual(["committed 1"]);
  });

  it("writes an agent's record once per turn, as it is when the commit starts", async () => {
    const { group, time } = await world();
    let serialised = 0;
    for (let i = 0; i < 10; i++) {
      group.draft().records.set(7, () => ({ agentNo: 7, agentId: "w", through: ++serialised, record: "{}" }));
    }
    group.schedule();
    await time.turn();
    expect(serialised).toBe(1);
  });

  it("writes a task once per turn, as it is when the commit starts", async () => {
    const { group, time, read } = await world();
    let serialised = 0;
    for (let i = 0; i < 10; i++) {
      group.saveMachine("task", "t-1", () => ({ overAt: null, record: String(++serialised) }));
    }
    group.schedule();
    await time.turn();
    expect(serialised).toBe(1);
    expect((await read.resume()).machines).toEqual([{ machine: "task", id: "t-1", overAt: null, record: "1" }]);
  });

  it("writes a turn that brought nothing but one thing, whatever it is", async () => {
    const { group, time, commits } = await world();
    const contents: ((draft: Draft) => void)[] = [
      ({ machines }) => machines.set("t-1", () => ({ machine: "task", id: "t-1", overAt: null, record: "{}" })),
      ({ checkpoints }) => checkpoints.push({ id: "c", taskId: "t-1", number: 1, time: 0, head: "{}", state: "{}" }),
      ({ audit }) =>
        audit.push(
          keepAuditTrail({ last: null, store: "store-1", isSealed: true, sign: () => "" }).append({
            time: 0,
            actor: "ada",
            action: "freeze",
            subject: null,
            reason: "",
            evidence: {},
            policy: null,
          }),
        ),
      ({ removed }) => removed.push(1),
      ({ records }) => records.set(2, () => ({ agentNo: 2, agentId: "w", through: 0, record: "{}" })),
      ({ events }) =>
        events.push({
          id: 1,
          time: 0,
          agentId: null,
          event: { type: "MONITOR_THAWED", payload: { actor: "ada", reason: "" } },
        }),
      ({ actions }) => actions.push({ key: "k", agentId: null, createdAt: 0, body: "{}" }),
      ({ finished }) => finished.push("k"),
      (draft) => {
        draft.marks["alive"] = "{}";
      },
    ];
    for (const [i, add] of contents.entries()) {
      add(group.draft());
      group.schedule();
      await time.turn();
      expect(commits).toHaveLength(i + 1);
    }
  });

  it("writes nothing when there is nothing to write", async () => {
    const { group, time, commits } = await world();
    group.schedule();
    await time.turn();
    expect(commits).toEqual([]);
  });
});

describe("a store that cannot be written", () => {
  it("everyone waiting is refused, and newcomers at once", async () => {
    const { take, time, breaks, isSlow, disk, group, told } = await world();
    breaks();
    isSlow();
    const first = take(1);
    await time.turn();
    const second = take(2);
    await disk();
    expect([first.state, second.state]).toEqual(["store-unavailable", "store-unavailable"]);
    expect(group.down()?.code).toBe("store-unavailable");
    await expect(group.saved()).rejects.toMatchObject({ code: "store-unavailable", retryable: true });
    expect(told).toEqual(["down store-unavailable"]);
  });

  it("what was refused is kept and tried every half second, before anything newer", async () => {
    const { take, time, breaks, mends, commits, told, kept, group } = await world();
    breaks();
    take(1);
    await time.turn();
    group.draft().signals.push(beat(2)); // taken into account while down, for whatever reason
    group.schedule();
    await time.turn();
    await time.pass(1600);
    expect(commits).toEqual([[1], [1], [1], [1]]);
    mends();
    await time.pass(500);
    expect(told).toEqual(["down store-unavailable", "back", "committed 1"]);
    expect(group.down()).toBeNull();
    await time.turn();
    expect(await kept()).toEqual([1, 2]);
    expect(take(3).state).toBe("waiting");
    await time.turn();
    expect(await kept()).toEqual([1, 2, 3]);
  });

  it("what came in the same turn as a refused crowd waits behind it", async () => {
    const { take, time, breaks, commits } = await world();
    breaks();
    for (let id = 1; id <= 25; id++) take(id);
    await time.settle();
    await time.turn();
    expect(commits.map(({ length }) => length)).toEqual([24]);
  });

  it("whoever was refused is not told later that it was saved", async () => {
    const { group, time, breaks, mends, isSlow, disk, take } = await world();
    breaks();
    isSlow();
    take(1);
    await time.turn();
    const answers: string[] = [];
    group.whenSaved(
      () => answers.push("saved"),
      ({ code }) => answers.push(code),
    );
    await disk();
    mends();
    isSlow(false);
    await time.pass(500);
    await time.turn();
    expect(group.down()).toBeNull();
    expect(answers).toEqual(["store-unavailable"]);
  });

  it("any other error of a store is told as its being unavailable", async () => {
    const { take, time, breaks, group } = await world();
    breaks(new TypeError("what?"));
    const one = take(1);
    await time.turn();
    expect(one.state).toBe("store-unavailable");
    expect(group.down()?.cause).toBeInstanceOf(TypeError);
  });
});

describe("a store that is still down when Rouse stops", () => {
  it("is not tried again, whether a try was due or under way", async () => {
    for (const underWay of [false, true]) {
      const { group, take, time, breaks, isSlow, disk, commits } = await world();
      breaks();
      take(1);
      await time.turn();
      isSlow(underWay);
      if (underWay) await time.pass(500);
      group.stop();
      await disk();
      await time.pass(5000);
      expect(commits).toHaveLength(underWay ? 2 : 1);
    }
  });
});

describe("a store that another monitor has taken over", () => {
  const replaced = new Fault("epoch-lost", "another monitor has taken over");

  it("refuses everyone for good: nothing is tried again, not even when it could be written", async () => {
    const { group, take, time, breaks, mends, commits, told } = await world();
    breaks(replaced);
    const first = take(1);
    const drained = group.drain();
    await time.turn();
    await drained;
    mends();
    await time.pass(5000);
    expect([first.state, take(2).state]).toEqual(["epoch-lost", "waiting"]);
    await time.turn();
    expect(commits).toEqual([[1]]);
    expect(group.isReplaced()).toBe(true);
    await expect(group.saved()).rejects.toBe(replaced);
    expect(told).toEqual(["down epoch-lost"]);
  });

  it("while it could not be written is known by the next try, which is the last", async () => {
    const { group, take, time, breaks, mends, commits, told } = await world();
    breaks();
    take(1);
    await time.turn();
    expect(group.isReplaced()).toBe(false);
    breaks(replaced);
    await time.pass(500);
    mends();
    await time.pass(5000);
    expect(commits).toEqual([[1], [1]]);
    expect(told).toEqual(["down store-unavailable", "down epoch-lost"]);
  });

  it("has each commit carry the epoch it was decided under", async () => {
    const inner = await openMemoryStore();
    const time = handWoundTimers();
    const none = () => undefined;
    const [old, now] = [await inner.takeOver(), await inner.takeOver()].map((epoch) =>
      groupCommits(inner, epoch, time.timers, { committed: none, wentDown: none, cameBack: none }),
    );
    const saved = Promise.allSettled([old?.saved(), now?.saved()]);
    await time.turn();
    expect(await saved).toMatchObject([
      { status: "rejected", reason: { code: "epoch-lost" } },
      { status: "fulfilled" },
    ]);
  });
});

describe("draining", () => {
  const isOver = async (drained: Promise<void>, settle: () => Promise<void>): Promise<boolean> => {
    let over = false;
    void drained.then(() => {
      over = true;
    });
    await settle();
    return over;
  };

  it("is over at once when there is nothing to write", async () => {
    const { group, time } = await world();
    expect(await isOver(group.drain(), time.settle)).toBe(true);
  });

  it("waits for what is under way and what came meanwhile", async () => {
    const { group, take, time, isSlow, disk, kept } = await world();
    isSlow();
    take(1);
    await time.turn();
    group.draft().signals.push(beat(2));
    const drained = group.drain();
    expect(await isOver(drained, time.settle)).toBe(false);
    await disk();
    expect(await isOver(drained, time.settle)).toBe(false);
    await time.turn();
    await disk();
    expect(await isOver(drained, time.settle)).toBe(true);
    expect(await kept()).toEqual([1, 2]);
  });

  it("brings to the disk what nobody has asked for yet", async () => {
    const { group, time, kept } = await world();
    group.draft().signals.push(beat(1));
    const drained = group.drain();
    await time.turn();
    expect(await isOver(drained, time.settle)).toBe(true);
    expect(await kept()).toEqual([1]);
  });

  it("waits for what is under way also when nothing came meanwhile", async () => {
    const { group, take, time, isSlow, disk } = await world();
    isSlow();
    take(1);
    await time.turn();
    const drained = group.drain();
    expect(await isOver(drained, time.settle)).toBe(false);
    await disk();
    expect(await isOver(drained, time.settle)).toBe(true);
  });

  it("does not wait for ever for a store that is down", async () => {
    const { group, take, time, breaks } = await world();
    breaks();
    take(1);
    const before = group.drain();
    await time.turn();
    group.draft().signals.push(beat(2));
    expect(await isOver(group.drain(), time.settle)).toBe(true);
    await time.pass(500);
    expect(await isOver(before, time.settle)).toBe(true);
  });
});
