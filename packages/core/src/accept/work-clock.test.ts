import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { noDoubt } from "../doubt.ts";
import type { Activity } from "../facts.ts";
import { dawn, ms, policyOf, type Said, story } from "../story.test-support.ts";
import { excusedUntil, turnClock, whenWorked, withoutStretch, workedSince, workedUntil } from "./work-clock.ts";

/** An agent that reported a checkpoint at 0 s and beats by a timer, so that only the progress clock is at stake. */
const working = (settings = {}) => {
  const agent = story({ preset: "fleet", settings });
  agent.beats({ lastCheckpoint: "c1" });
  return agent;
};

describe("a wait that names its end", () => {
  it("excuses nobody for longer than a week and a day, whatever it names", () => {
    const activity: Activity = { kind: "WAITING", since: dawn, for: "provider", until: dawn + ms("300d") };
    const ends = excusedUntil(activity, dawn, policyOf("fleet")) ?? 0;
    expect(ends - dawn).toBe(ms("8d") + ms("1m"));
  });
});

describe("the progress clock", () => {
  it("runs while an agent runs: beats by a timer are life, not progress", () => {
    const agent = working();
    agent.beatsEvery("5s", "31m");
    expect(agent.past).toEqual(["600s DEGRADED", "1800s STUCK"]);
  });

  it("idle guard: stands still while an agent has nothing to do, for a whole day", () => {
    const agent = working();
    agent.beatsEvery("10s", "24h", { status: "IDLE" });
    expect(agent.past).toEqual([]);
  });

  it.each([
    ["input", "24h"],
    ["provider", "1h"],
    ["children", "1.5h"],
    ["schedule", "1h"],
  ] as const)("stands still while it waits for %s, and runs on after %s", (waitingFor, ceiling) => {
    const agent = working();
    agent.beatsEvery("5s", `${ms(ceiling) / 1000 + 1800}s`, { status: "WAITING", waitingFor });
    const end = ms(ceiling) / 1000;
    expect(agent.past).toEqual([`${end + 600}s DEGRADED`, `${end + 1800}s STUCK`]);
  });

  it("stands still until the end a wait has named and a minute more, then runs on", () => {
    const agent = working();
    agent.beats({ status: "WAITING", waitingFor: "provider" }, { waitsFor: "3h" });
    agent.beatsEvery("5s", "4h", { status: "WAITING", waitingFor: "provider" });
    expect(agent.past).toEqual(["11460s DEGRADED", "12660s STUCK"]);
  });

  it("runs on after the named end even if every beat names the same end again", () => {
    const agent = working();
    for (let s = 0; s < 3600; s += 5) {
      agent.beats({ status: "WAITING", waitingFor: "provider" }, { waitsFor: (600 - s) * 1000 });
      agent.silentFor("5s");
    }
    expect(agent.past).toEqual(["1260s DEGRADED", "2460s STUCK"]);
  });

  it("stands still while an agent starts, and runs on after the start-up grace", () => {
    const agent = working();
    agent.beatsEvery("5s", "1h", { status: "STARTING" });
    expect(agent.past).toEqual(["660s DEGRADED", "1860s STUCK"]);
  });

  it.each([
    { timeoutSeconds: undefined, ceiling: 600 },
    { timeoutSeconds: 60, ceiling: 600 },
    { timeoutSeconds: 540, ceiling: 600 },
    { timeoutSeconds: 541, ceiling: 601 },
    { timeoutSeconds: 7200, ceiling: 7260 },
  ])("an open tool with a timeout of $timeoutSeconds s stops it for $ceiling s", ({ timeoutSeconds, ceiling }) => {
    const agent = working();
    agent.beatsEvery("5s", "3h", { open: { kind: "tool", name: "build", timeoutSeconds } });
    expect(agent.past).toEqual([`${ceiling + 600}s DEGRADED`, `${ceiling + 1800}s STUCK`]);
  });

  it("an open model request does not stop it", () => {
    const agent = working();
    agent.beatsEvery("5s", "31m", { open: { kind: "model", timeoutSeconds: 3600 } });
    expect(agent.past).toEqual(["600s DEGRADED", "1800s STUCK"]);
  });

  it("adds up stretches of work and leaves out what lies between", () => {
    const agent = working();
    agent.beatsEvery("5s", "9m");
    agent.beatsEvery("5s", "5h", { status: "WAITING", waitingFor: "input" });
    agent.beatsEvery("5s", "2m");
    expect(agent.past).toEqual([`${5 * 3600 + 600}s DEGRADED`]);
  });

  it("leaves out what the monitor could not have seen", () => {
    const agent = working();
    agent.beatsEvery("5s", "9m");
    agent.monitorIsBlindFor("2h");
    agent.beatsEvery("5s", "2m");
    expect(agent.past).toEqual([`${7200 + 600}s DEGRADED`]);
  });
});

describe("work-clock arithmetic", () => {
  const policy = policyOf("fleet");
  const activities = fc.oneof(
    fc.constant<Activity["kind"]>("IDLE"),
    fc.constant<Activity["kind"]>("RUNNING"),
    fc.constant<Activity["kind"]>("STARTING"),
  );
  const of = (kind: Activity["kind"], since: number): Activity =>
    kind === "RUNNING"
      ? { kind, since, open: null }
      : kind === "WAITING"
        ? { kind, since, for: "input", until: null }
        : { kind, since };

  it("never runs backwards, never faster than time, and says exactly when it will show what", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(activities, fc.integer({ min: 0, max: 100_000 }))),
        fc.nat(200_000),
        (steps, target) => {
          let clock = { total: 0, resumesAt: null as number | null };
          let now = dawn;
          for (const [kind, lasts] of steps) {
            clock = turnClock(clock, of(kind, now), dawn, { now, policy, doubt: noDoubt });
            const before = workedUntil(clock, now);
            now += lasts;
            const after = workedUntil(clock, now);
            expect(after).toBeGreaterThanOrEqual(before);
            expect(after - before).toBeLessThanOrEqual(lasts);
            const when = whenWorked(clock, after + target);
            if (when !== null) expect(workedUntil(clock, Math.max(when, now))).toBe(after + target);
          }
        },
      ),
    );
  });

  it("a gap takes out exactly the work that would have fallen into it", () => {
    const bounded = fc.nat(1000);
    fc.assert(
      fc.property(bounded, bounded, bounded, bounded, (resumesAt, from, length, later) => {
        const clock = { total: 50, resumesAt };
        const to = from + length;
        const now = to + later;
        const inGap = Math.max(0, to - Math.max(from, resumesAt));
        const corrected = withoutStretch(clock, from, to);
        expect(workedUntil(corrected, now)).toBe(workedUntil(clock, now) - inGap);
      }),
    );
  });

  it("an excuse has an end unless the agent has nothing to do", () => {
    for (const kind of ["IDLE", "FINISHED"] as const) expect(excusedUntil(of(kind, dawn), dawn, policy)).toBeNull();
    for (const kind of ["STARTING", "RUNNING", "WAITING"] as const) {
      expect(excusedUntil(of(kind, dawn), dawn, policy)).toBeTypeOf("number");
    }
  });

  it("agrees with a stopwatch over any life", () => {
    const lives = fc.array(
      fc.tuple(fc.constantFrom<Said["status"]>("RUNNING", "IDLE"), fc.integer({ min: 1, max: 4000 })),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(lives, (steps) => {
        const agent = story({ preset: "fleet" });
        agent.beats({ lastCheckpoint: "c", status: "IDLE" });
        let worked = 0;
        for (const [status, lasts] of steps) {
          agent.beats({ status });
          agent.silentFor(lasts);
          if (status === "RUNNING") worked += lasts;
        }
        const { checkpoint } = agent.record.seen.facts;
        expect(checkpoint === null ? null : workedSince(agent.record, checkpoint, agent.now)).toBe(worked);
      }),
    );
  });
});
