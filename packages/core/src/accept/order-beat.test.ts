import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentRecord } from "../record.ts";
import { type Said, story } from "../story.test-support.ts";
import { repeatsNumbers } from "./order-beat.ts";

describe("a beat that comes twice", () => {
  it("leaves the same record, but for its counter and when the agent was last heard", () => {
    const agent = story();
    agent.beats({ sequenceNumber: 1, tokenCount: 10, progressIndicator: "a" });
    agent.silentFor("1s");
    const said = { sequenceNumber: 2, tokenCount: 500, errorCount: 3, toolCallCount: 4, lastCheckpoint: "c1" };
    const time = { agentTime: agent.now };
    agent.beats(said, time);
    const once = agent.record;
    agent.silentFor("2s");
    const again = agent.beats(said, time);

    expect(again).toMatchObject({ status: "duplicate", because: "seen-before", sequenceNumber: 2 });
    const { beats, wakeAt, life } = agent.record;
    const { heardAt } = life;
    const { heardAt: beatHeardAt } = once.beats;
    expect({ ...withoutHeard(agent.record), beats: { ...beats, duplicates: 0, heardAt: beatHeardAt } }).toEqual({
      ...withoutHeard(once),
      beats: once.beats,
    });
    expect(beats.heardAt).toBe(agent.now);
    expect({ heardAt, duplicates: beats.duplicates }).toEqual({ heardAt: agent.now, duplicates: 1 });
    expect(wakeAt).toBe((once.wakeAt ?? 0) + 2000);
  });

  it("shows that the agent is there for one beat, with its time or without: then something else repeats it", () => {
    for (const agentTime of [0, null]) {
      const agent = story();
      agent.beats({ sequenceNumber: 1 }, { agentTime });
      for (let i = 0; i < 4; i++) {
        agent.silentFor("5s");
        expect(agent.beats({ sequenceNumber: 1 }, { agentTime }).status).toBe("duplicate");
      }
      // Heard again after 5 s, and from then on the clock of silence runs: 5 s a beat, 2 s of grace.
      expect(agent.past).toEqual(["17s DEGRADED"]);
      agent.silentFor("2s");
      expect(agent.past).toEqual(["17s DEGRADED", "22s UNRESPONSIVE"]);
      expect(agent.record.beats.duplicates).toBe(4);
    }
  });

  it("does not hide a death behind a whole recording that is played again", () => {
    const agent = story();
    const beat = (n: number) => agent.beats({ sequenceNumber: n }, { agentTime: n });
    for (let n = 1; n <= 10; n++) {
      agent.silentFor("5s");
      beat(n);
    }
    for (let n = 1; n <= 10; n++) {
      agent.silentFor("5s");
      beat(n);
    }
    expect(agent.record.health.state).toBe("UNRESPONSIVE");
  });

  it.each([
    ["the last but one", 9],
    ["one that is too far back to be remembered", 2],
  ])("without a time does not hide a death: %s, played again and again", (_, again) => {
    const agent = story();
    for (let n = 1; n <= (again === 9 ? 10 : 50); n++) {
      agent.silentFor("5s");
      agent.beats({ sequenceNumber: n }, { agentTime: null });
    }
    for (let i = 0; i < 8; i++) {
      agent.silentFor("5s");
      agent.beats({ sequenceNumber: again }, { agentTime: null });
    }
    expect(agent.record.health.state).toBe("UNRESPONSIVE");
  });

  it("without times does not hide a death behind a recording for longer than that is, however often it is played", () => {
    const agent = story();
    for (let round = 0; round < 4; round++)
      for (let n = 1; n <= 10; n++) {
        agent.silentFor("5s");
        agent.beats({ sequenceNumber: n }, { agentTime: null });
      }
    expect(agent.record.health.state).toBe("UNRESPONSIVE");
    // The agent is heard a second time, and not a third.
    expect(agent.past.map((line) => line.split(" ")[1])).toEqual(["DEGRADED", "UNRESPONSIVE"]);
  });

  it("does not keep alive after its agent's clock was set back, although its time is later than the newest", () => {
    const agent = story();
    for (let n = 1; n <= 50; n++) {
      agent.silentFor("5s");
      agent.beats({ sequenceNumber: n, incarnation: 1 }, { agentTime: n < 40 ? agent.now + 3_600_000 : agent.now });
    }
    const time = agent.now + 3_500_000;
    for (let i = 0; i < 8; i++) {
      agent.silentFor("5s");
      agent.beats({ sequenceNumber: 5, incarnation: 1 }, { agentTime: time });
    }
    expect(agent.record.health.state).toBe("UNRESPONSIVE");
  });

  it("is no repetition when its time is new each time: some agents number all their beats the same", () => {
    const agent = story();
    for (let i = 0; i < 20; i++) {
      agent.beats({ sequenceNumber: 1, incarnation: 1 });
      agent.silentFor("5s");
    }
    expect(agent.past).toEqual([]);
    const { lastAgentTime } = agent.record.beats;
    const agentTime = agent.now - 5000;
    expect(agentTime).toBeGreaterThan(lastAgentTime ?? 0);
    for (let i = 0; i < 8; i++) {
      agent.beats({ sequenceNumber: 1, incarnation: 1 }, { agentTime });
      agent.silentFor("5s");
    }
    expect(agent.record.health.state).toBe("UNRESPONSIVE");
  });

  it("keeps an agent alive that counts from the start again and sends no times", () => {
    const agent = story();
    for (let round = 0; round < 2; round++)
      for (const n of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10]) {
        agent.silentFor("4s");
        agent.beats({ sequenceNumber: n }, { agentTime: null });
      }
    // The agent lives, and its restarted numbers are told from the third beat on, until one can be read.
    expect(agent.past).toEqual(["56s DEGRADED"]);
    expect(agent.reason).toBe("sequence-restarted");
    agent.beats({ sequenceNumber: 11 }, { agentTime: null });
    expect(agent.state).toBe("HEALTHY");
  });

  it("is known as repeated up to 32 numbers back", () => {
    const agent = story();
    for (let n = 1; n <= 40; n++) agent.beats({ sequenceNumber: n }, { agentTime: n });
    expect(agent.beats({ sequenceNumber: 8 }, { agentTime: 8 }).status).toBe("duplicate");
    expect(agent.beats({ sequenceNumber: 7 }, { agentTime: 7 }).status).toBe("stale");
  });
});

describe("a beat that was sent before one that was heard", () => {
  it("shows nothing of the present, however late it comes", () => {
    const agent = story();
    agent.beats({ sequenceNumber: 100 }, { agentTime: 100 });
    const { heardAt } = agent.record.life;
    for (let n = 1; n <= 5; n++) {
      agent.silentFor("5s");
      expect(agent.beats({ sequenceNumber: n }, { agentTime: n }).status).toBe("stale");
    }
    expect(agent.record.life.heardAt).toBe(heardAt);
    expect(agent.record.health.state).toBe("UNRESPONSIVE");
  });

  it("is a sign of life all the same when only its clock says so: the number goes on", () => {
    const agent = story();
    for (let n = 1; n <= 20; n++) {
      agent.silentFor("5s");
      const clock = n < 10 ? agent.now : agent.now - 7_200_000;
      expect(agent.beats({ sequenceNumber: n }, { agentTime: clock }).status).toBe("accepted");
    }
    expect(agent.past).toEqual([]);
  });
});

describe("a beat of another time", () => {
  const day = 86_400_000;
  const sentAt = (skew: number) => {
    const agent = story();
    agent.beats({});
    agent.silentFor("5s");
    const { reply } = agent.take({
      kind: "heartbeat",
      beat: { agentId: "worker-1" },
      checksum: "absent",
      agentTime: agent.now + skew,
      skew,
      waitsFor: null,
    });
    return { reply, heard: agent.record.life.heardAt === agent.now };
  };

  it("is refused and shows nothing when it is more than 30 days from our clock and from the agent's own", () => {
    for (const skew of [-6 * 365 * day, -30 * day - 1, 30 * day + 1])
      expect(sentAt(skew)).toMatchObject({ reply: { status: "rejected", because: "absurd-time" }, heard: false });
  });

  it("is heard when the agent's clock was always wrong by years: it is the same clock", () => {
    const agent = story();
    const beat = { agentId: "worker-1" };
    for (let i = 0; i < 5; i++) {
      const skew = 5 * 365 * day + i;
      const agentTime = agent.now + skew;
      const { reply } = agent.take({ kind: "heartbeat", beat, checksum: "absent", agentTime, skew, waitsFor: null });
      expect(reply?.status).toBe("accepted");
      agent.silentFor("5s");
    }
    expect(agent.state).toBe("HEALTHY");
    // With its clock set right, the agent is heard as well.
    expect(agent.beats({ sequenceNumber: 9 }).status).toBe("accepted");
  });

  it("is heard when our own clock leapt by years: its agent's went on as before", () => {
    const agent = story();
    agent.beats({});
    agent.silentFor("5s");
    const beat = { agentId: "worker-1", sequenceNumber: 2 };
    const skew = 9 * 365 * day;
    const { reply } = agent.take({
      kind: "heartbeat",
      beat,
      checksum: "absent",
      agentTime: agent.now + 0,
      skew,
      waitsFor: null,
    });
    expect(reply?.status).toBe("accepted");
  });

  it("is heard when the agent's clock is wrong by hours or days", () => {
    for (const skew of [-30 * day, -14 * 3_600_000, 2000, 5 * 3_600_000, 30 * day])
      expect(sentAt(skew)).toMatchObject({ reply: { status: "accepted" }, heard: true });
  });
});

describe("numbers that are missing", () => {
  it("are counted as lost, and counted back when the beats arrive late", () => {
    const agent = story();
    agent.beats({ sequenceNumber: 1 }, { agentTime: 1 });
    agent.beats({ sequenceNumber: 5 }, { agentTime: 5 });
    expect(agent.record.beats.lost).toBe(3);
    expect(agent.events.find(({ type }) => type === "HEARTBEATS_LOST")?.payload).toEqual({
      agentId: "worker-1",
      count: 3,
      afterSequence: 1,
      beforeSequence: 5,
    });
    for (const late of [3, 2, 4]) {
      expect(agent.beats({ sequenceNumber: late }, { agentTime: late })).toMatchObject({
        status: "stale",
        because: "older-than-last",
      });
    }
    expect(agent.record.beats).toMatchObject({ lost: 0, accepted: 2, stale: 3, duplicates: 0 });
    agent.beats({ sequenceNumber: 3 }, { agentTime: 3 });
    expect(agent.record.beats).toMatchObject({ lost: 0, stale: 3, duplicates: 1 });
  });

  it("do not count before the first beat that was heard", () => {
    const agent = story();
    agent.beats({ sequenceNumber: 1000 });
    expect(agent.record.beats.lost).toBe(0);
  });

  it("stay lost when they are too old to be told from repeated ones", () => {
    const agent = story();
    agent.beats({ sequenceNumber: 1 }, { agentTime: 1 });
    agent.beats({ sequenceNumber: 50 }, { agentTime: 50 });
    agent.beats({ sequenceNumber: 2 }, { agentTime: 2 });
    expect(agent.record.beats).toMatchObject({ lost: 48, stale: 1 });
  });

  it("may be as many as numbers go", () => {
    const agent = story();
    agent.beats({ sequenceNumber: 0 });
    expect(agent.beats({ sequenceNumber: Number.MAX_SAFE_INTEGER }).status).toBe("accepted");
    expect(agent.record.beats).toMatchObject({ lost: Number.MAX_SAFE_INTEGER - 1, accepted: 2 });
    expect(agent.beats({ sequenceNumber: 1 }, { agentTime: 0 }).status).toBe("stale");
  });
});

describe("late beats", () => {
  it("bring no news: what they say is older than what is known", () => {
    const agent = story();
    agent.beats({ sequenceNumber: 1, lastCheckpoint: "c1" }, { agentTime: 1 });
    agent.beats({ sequenceNumber: 3, lastCheckpoint: "c3", status: "IDLE" }, { agentTime: 3 });
    const { facts } = agent.record.seen;
    const { activity } = agent.record.work;
    agent.beats({ sequenceNumber: 2, lastCheckpoint: "c2", tokenCount: 9 }, { agentTime: 2 });
    expect(agent.record.seen.facts).toBe(facts);
    expect(agent.record.work.activity).toBe(activity);
  });

  it("in any order and however often, leave nothing lost once all have come", () => {
    const shuffled = fc
      .integer({ min: 1, max: 30 })
      .chain((n) =>
        fc.record({
          n: fc.constant(n),
          order: fc.shuffledSubarray(
            Array.from({ length: n }, (_, i) => i + 1),
            { minLength: n, maxLength: n },
          ),
          repeats: fc.array(fc.record({ of: fc.integer({ min: 1, max: n }), at: fc.nat(2 * n) }), { maxLength: n }),
        }),
      )
      .map(({ n, order, repeats }) => {
        const arrivals = [...order];
        for (const { of, at } of repeats) arrivals.splice(Math.min(at, arrivals.length), 0, of);
        return { n, arrivals };
      });
    fc.assert(
      fc.property(shuffled, ({ n, arrivals }) => {
        const agent = story();
        for (const number of arrivals) agent.beats({ sequenceNumber: number }, { agentTime: number });
        const { lost, accepted, stale, duplicates, lastSequence } = agent.record.beats;
        expect({ lost, arrived: accepted + stale, duplicates, lastSequence }).toEqual({
          lost: 0,
          arrived: n,
          duplicates: arrivals.length - n,
          lastSequence: n,
        });
        expect(agent.record.life.incarnation).toBe(1);
      }),
      { numRuns: 500 },
    );
  });

  it("are counted exactly: what was skipped and never came is what is lost", () => {
    const skipping = fc.uniqueArray(fc.integer({ min: 2, max: 30 }), { maxLength: 10 });
    fc.assert(
      fc.property(skipping, fc.nat(), (never, seed) => {
        const came = Array.from({ length: 30 }, (_, i) => i + 2).filter((n) => !never.includes(n));
        const order = [1, ...came.toSorted((a, b) => ((a * (seed + 7)) % 31) - ((b * (seed + 7)) % 31))];
        const agent = story();
        for (const n of order) agent.beats({ sequenceNumber: n }, { agentTime: n });
        expect(agent.record.beats.lost).toBe(never.length);
      }),
    );
  });
});

describe("what beats without times show", () => {
  const untimed = (agent: ReturnType<typeof story>, ...numbers: number[]) => {
    for (const sequenceNumber of numbers) agent.beats({ sequenceNumber }, { agentTime: null });
  };

  it("lost ones that come late after all, one after the other, are no new count", () => {
    const agent = story();
    untimed(agent, 1, 10, 2, 3, 4, 5);
    expect(repeatsNumbers(agent.record)).toBe(false);
    expect(agent.record.beats.lost).toBe(4);
  });

  it("a new count is one until the old one goes on, and the next is counted from its start", () => {
    const agent = story();
    untimed(agent, 1, 2, 3, 4, 5, 1, 2, 3);
    expect(repeatsNumbers(agent.record)).toBe(true);
    untimed(agent, 6);
    expect(agent.record.beats).toMatchObject({ startedOver: null, late: null });
    untimed(agent, 1, 2);
    expect(repeatsNumbers(agent.record)).toBe(false);
  });

  it("one that stands still, or goes back, is not counted", () => {
    const agent = story();
    untimed(agent, 1, 2, 3, 4, 5, 3, 3, 3, 2, 1);
    expect(repeatsNumbers(agent.record)).toBe(false);
  });
});

describe("a lost beat", () => {
  it("is not found again by one that was heard before, nor by one of a new count", () => {
    const agent = story();
    for (const n of [1, 5, 1]) agent.beats({ sequenceNumber: n }, { agentTime: n });
    expect(agent.record.beats.lost).toBe(3);
    agent.beats({ sequenceNumber: 2 }, { agentTime: 9 });
    expect(agent.record.beats.lost).toBe(3);
  });
});

describe("an agent that counts from 1 again without a word", () => {
  const counted = (upTo: number) => {
    const agent = story();
    for (let n = 1; n <= upTo; n++) {
      agent.beats({ sequenceNumber: n, lastCheckpoint: "old" });
      agent.silentFor("5s");
    }
    return agent;
  };

  it.each([3, 200])("is a new incarnation at its third later-timed beat (it had counted to %i)", (upTo) => {
    const agent = counted(upTo);
    for (const n of [1, 2]) {
      expect(agent.beats({ sequenceNumber: n }).status).not.toBe("accepted");
      expect(agent.record.life.incarnation).toBe(1);
      agent.silentFor("5s");
    }
    expect(agent.beats({ sequenceNumber: 3 }).status).toBe("accepted");
    expect(agent.record).toMatchObject({
      beats: { lastSequence: 3, accepted: 1, lost: 0 },
      life: { incarnation: 2, bornAt: agent.now },
    });
    expect(agent.record.seen.facts.lastCheckpoint).toBeNull();
    expect(agent.events).toContainEqual({
      type: "AGENT_INCARNATION_STARTED",
      payload: { agentId: "worker-1", from: 1, to: 2, because: "sequence-started-over" },
    });
  });

  it("is a new incarnation at once when it had been silent for several beats", () => {
    const agent = counted(50);
    agent.silentFor("20s");
    expect(agent.beats({ sequenceNumber: 1 }).status).toBe("accepted");
    expect(agent.record.life.incarnation).toBe(2);
  });

  it("is believed to be the same when it names its incarnation", () => {
    const agent = counted(50);
    agent.silentFor("20s");
    for (let n = 1; n <= 5; n++) {
      expect(agent.beats({ sequenceNumber: n, incarnation: 1 }).status).not.toBe("accepted");
      agent.silentFor("5s");
    }
    expect(agent.record.life.incarnation).toBe(1);
    // The beats are not read, and that is told.
    expect(agent).toMatchObject({ state: "DEGRADED", reason: "sequence-restarted" });
  });

  it("is not judged by what it did before, while it is not yet clear who speaks", () => {
    const agent = story({ preset: "default" });
    for (let n = 1; n <= 50; n++) {
      agent.beats({ sequenceNumber: n, toolCallCount: n });
      agent.silentFor("5m");
    }
    agent.beats({ sequenceNumber: 51, toolCallCount: 50 });
    for (const n of [1, 2]) {
      agent.silentFor("5m");
      agent.beats({ sequenceNumber: n, toolCallCount: n });
    }
    agent.silentFor("5m");
    expect(agent.past.some((line) => line.includes("STUCK"))).toBe(false);
  });

  it("is not one when the beats are merely late: their times are older", () => {
    const agent = counted(50);
    const longAgo = agent.now - 400_000;
    for (let n = 1; n <= 10; n++) agent.beats({ sequenceNumber: n }, { agentTime: longAgo + n });
    expect(agent.record.life.incarnation).toBe(1);
  });

  it("is not one when news of the old count comes in between", () => {
    const agent = counted(50);
    for (let round = 0; round < 5; round++) {
      agent.beats({ sequenceNumber: 1 });
      agent.silentFor("1s");
      agent.beats({ sequenceNumber: 2 });
      agent.silentFor("1s");
      agent.beats({ sequenceNumber: 51 + round });
      agent.silentFor("1s");
    }
    expect(agent.record.life.incarnation).toBe(1);
  });

  it("is not one when the same number comes three times with a new time each", () => {
    const agent = counted(50);
    for (let i = 0; i < 5; i++) {
      agent.silentFor("1s");
      agent.beats({ sequenceNumber: 7 });
    }
    expect(agent.record.life.incarnation).toBe(1);
  });
});

describe("an agent that does not number its beats", () => {
  it("gets numbers, and never loses or repeats one", () => {
    const agent = story();
    for (let i = 1; i <= 100; i++) {
      expect(agent.beats({ sequenceNumber: undefined })).toMatchObject({ status: "accepted", sequenceNumber: i });
    }
    expect(agent.record.beats).toMatchObject({ accepted: 100, lost: 0, stale: 0, duplicates: 0 });
  });
});

function withoutHeard({ wakeAt: _, beats: __, life, ...rest }: AgentRecord) {
  const { heardAt: ___, ...lived } = life;
  return { ...rest, life: lived };
}

describe("an agent that does not number its beats", () => {
  it("has those that were overtaken on the way recognised by their own time", () => {
    const agent = story();
    agent.beats({ status: "RUNNING", sequenceNumber: undefined });
    agent.silentFor("5s");
    agent.beats({ status: "IDLE", sequenceNumber: undefined });
    agent.silentFor("1s");
    const late = agent.beats({ status: "RUNNING", sequenceNumber: undefined }, { agentTime: agent.now - 3000 });
    expect(late).toMatchObject({ status: "stale", because: "older-than-last" });
    expect(agent.record.work.activity.kind).toBe("IDLE");
  });

  it("may have its clock set back", () => {
    const agent = story();
    agent.beats({ sequenceNumber: undefined });
    agent.silentFor("5s");
    for (let i = 0; i < 20; i++) {
      const told = agent.beats({ sequenceNumber: undefined }, { agentTime: agent.now - 3_600_000 });
      expect(told.status).toBe("accepted");
      agent.silentFor("5s");
    }
    expect(agent.past).toEqual([]);
  });

  it.each([
    ["the last", [0]],
    ["one from five minutes ago", [-300_000]],
    ["two in turn", [-300_000, -600_000]],
    ["three in their order", [-300_000, -295_000, -290_000]],
  ])("is not alive because beats of it are played again: %s", (_, ago) => {
    const agent = story();
    agent.beats({ sequenceNumber: undefined });
    const last = agent.now;
    for (let i = 0; i < 12; i++) {
      agent.silentFor("5s");
      agent.beats({ sequenceNumber: undefined }, { agentTime: last + (ago[i % ago.length] ?? 0) });
    }
    expect(agent.record.health.state).toBe("UNRESPONSIVE");
  });

  it("is heard with a last word in the same second", () => {
    const agent = story();
    const agentTime = agent.now;
    agent.beats({ sequenceNumber: undefined, status: "RUNNING" }, { agentTime });
    expect(agent.beats({ sequenceNumber: undefined, status: "IDLE" }, { agentTime }).status).toBe("accepted");
    expect(agent.record.work.activity.kind).toBe("IDLE");
  });
});

describe("an agent that counts from 1 again and sends no times", () => {
  const counted = (given: Parameters<typeof story>[0] = {}, every = "5s") => {
    const agent = story(given);
    const beat = (n: number, said: Said = {}) => {
      agent.beats({ sequenceNumber: n, ...said }, { agentTime: null });
      agent.silentFor(every);
    };
    return { agent, beat };
  };

  it("is never STUCK for what it said before, and what is the matter is said", () => {
    const { agent, beat } = counted({ preset: "default" }, "5m");
    for (let n = 1; n <= 50; n++) beat(n, { toolCallCount: n, progressIndicator: `${n}` });
    beat(51, { toolCallCount: 50 });
    for (let n = 1; n <= 40; n++) beat(n, { toolCallCount: n });
    expect(agent.past.some((line) => line.includes("STUCK"))).toBe(false);
    expect(agent).toMatchObject({ state: "DEGRADED", reason: "sequence-restarted" });
    expect(agent.finding("sequence-restarted")).toMatchObject({
      level: "degraded",
      text: expect.stringContaining("give a new incarnation"),
      evidence: { lastSequence: 51, sequence: 40, unread: 40 },
    });
    expect(agent.record.life.incarnation).toBe(1);
    expect(agent.did("stop-agent")).toEqual([]);
  });

  it("is no longer STUCK when it was so before", () => {
    const { agent, beat } = counted({ preset: "default" }, "5m");
    for (let n = 1; n <= 50; n++) beat(n, { toolCallCount: Math.min(n, 45), progressIndicator: `${Math.min(n, 45)}` });
    expect(agent.state).toBe("STUCK");
    for (let n = 1; n <= 3; n++) beat(n);
    expect(agent).toMatchObject({ state: "DEGRADED", reason: "sequence-restarted" });
  });

  it("is read again as soon as it names a new incarnation", () => {
    const { agent, beat } = counted();
    for (let n = 1; n <= 20; n++) beat(n);
    for (let n = 1; n <= 5; n++) beat(n);
    expect(agent.state).toBe("DEGRADED");
    beat(6, { incarnation: 2 });
    expect(agent).toMatchObject({ state: "HEALTHY", record: { life: { incarnation: 2 } } });
  });

  it("has begun a new life when the one before had finished", () => {
    const { agent, beat } = counted();
    for (let n = 1; n <= 9; n++) beat(n);
    beat(10, { status: "FINISHED" });
    for (let n = 1; n <= 3; n++) beat(n);
    expect(agent.record).toMatchObject({ life: { incarnation: 2 }, work: { activity: { kind: "RUNNING" } } });
  });

  it("is not what was sent and not answered, and is sent once more in one go, however long nobody answered", () => {
    const { agent, beat } = counted({ preset: "default" }, "5m");
    for (let n = 1; n <= 20; n++) beat(n, { progressIndicator: `${n}` });
    agent.silentFor("4m");
    for (let n = 9; n <= 20; n++) {
      agent.beats({ sequenceNumber: n }, { agentTime: null });
      agent.silentFor("1s");
    }
    for (let n = 21; n <= 30; n++) beat(n, { progressIndicator: `${n}` });
    expect(agent.past).toEqual([]);
    beat(31, { status: "FINISHED" });
    for (let n = 21; n <= 31; n++) agent.beats({ sequenceNumber: n }, { agentTime: null });
    expect(agent.record.life.incarnation).toBe(1);
  });

  it("is not what old beats are that come once more among new ones", () => {
    const { agent, beat } = counted();
    for (let n = 1; n <= 60; n += 5) {
      for (let i = n; i < n + 5; i++) beat(i, { progressIndicator: "same" });
      for (let i = n; i < n + 4; i++) agent.beats({ sequenceNumber: i }, { agentTime: null });
    }
    expect(agent.past).toEqual([]);
  });

  it("does not hide behind old beats that nothing gets done", () => {
    const { agent, beat } = counted({}, "2s");
    beat(1, { progressIndicator: "1" });
    for (let n = 2; n <= 1500; n++) {
      beat(n, { progressIndicator: "2" });
      agent.beats({ sequenceNumber: n - 1 }, { agentTime: null });
    }
    expect(agent.past.map((line) => line.split(" ")[1])).toContain("STUCK");
  });
});
