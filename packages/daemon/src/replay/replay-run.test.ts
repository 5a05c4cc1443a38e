import { policyFrom, type StepEvent, settingsOf } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { busy, looping, step } from "./recorded.test-support.ts";
import { replayRun, startReplay } from "./replay-run.ts";

const settings = settingsOf("default");
const policy = policyFrom("default", settings);
const replay = (events: readonly StepEvent[], by = policy) => replayRun({ trace: "a", events }, by);

describe("a replayed run", () => {
  it("says at which event the gravest verdict was first reached, why, and what had been said before", () => {
    const run = replay(looping("a"));
    expect(run).toMatchObject({ verdict: "stuck", index: 9, events: 16, alerts: 1, terminations: 0 });
    expect(run.because[0]).toMatchObject({ kind: "identical-step", evidence: { times: 5, events: "1 3 5 7 9" } });
    expect(run.moments.map(({ index, verdict }) => [index, verdict])).toEqual([
      [5, "suspect"],
      [9, "stuck"],
    ]);
    expect(run.actions).toMatchObject([{ index: 9, event: { type: "ALERT_RAISED" } }]);
  });

  it("is healthy without an index, and nothing is done", () => {
    expect(replay(busy("a"))).toMatchObject({ verdict: "healthy", index: null, because: [], moments: [], actions: [] });
  });

  it("raises no alert under a policy that only observes", () => {
    expect(replay(looping("a"), policyFrom("observe", { ...settings, mode: "observe" }))).toMatchObject({
      verdict: "stuck",
      alerts: 0,
    });
  });

  it("keeps its gravest verdict when it moves on", () => {
    const run = replay([...looping("a"), ...busy("a", 40)]);
    expect(run).toMatchObject({ verdict: "stuck", index: 9 });
    expect(run.moments.at(-1)?.verdict).not.toBe("stuck");
  });
});

describe("the time of a replayed run", () => {
  const silent = (start: number) => [
    ...step("a", "c1", "r1", { at: start }),
    ...step("a", "c2", "r2", { at: start + 4000 }),
  ];

  it("begins with its first event, whatever the clock said then", () => {
    const { verdict, index, after, lasted } = replay(silent(0));
    expect(verdict).not.toBe("healthy");
    expect({ index, lasted }).toEqual({ index: 1, lasted: 4_000_000 });
    expect(replay(silent(1_700_000_000))).toMatchObject({ verdict, index, after, lasted });
  });

  it("stands still where it runs backwards", () => {
    expect(replay([...step("a", "c1", "r1", { at: 100 }), ...step("a", "c2", "r2", { at: 0 })]).lasted).toBe(0);
  });

  it("is not told where the source has no clock", () => {
    expect(replay(looping("a")).after).toBeNull();
    expect(replay(looping("a").map((line, i) => ({ ...line, at: i })))).toMatchObject({ index: 9, after: 9000 });
  });
});

describe("a run without an end", () => {
  it("is held in bounded space: of what was said and done only the first is kept", () => {
    const round = [...looping("a", 6), ...busy("a", 3)];
    const events = Array.from({ length: 400 }, (_, i) =>
      // An hour apart: what comes back sooner goes up and down, and is not told each time.
      round.map((line) => ({ ...line, at: 3600 * i, args_digest: line.args_digest && `${line.args_digest} ${i}` })),
    ).flat();
    const run = replay(events);
    expect(run.alerts).toBeGreaterThan(200);
    expect(run.actions).toHaveLength(200);
    expect(run.moments.length).toBeLessThanOrEqual(203);
  });
});

describe("a recording of a whole run", () => {
  const ends = (events: readonly StepEvent[], ended: boolean) => {
    const run = startReplay("a", policy, ended);
    for (const event of events) run.take(event);
    return run.finish();
  };

  it("that ends in the middle of a loop is stuck; of one that may go on nobody knows", () => {
    const events = looping("a", 3);
    expect(ends(events, false)).toMatchObject({ verdict: "suspect" });
    const over = ends(events, true);
    expect(over).toMatchObject({ verdict: "stuck", index: events.length - 1 });
    expect(over.because[0]?.text).toContain("and the run ended there");
  });

  it("that gave its answer after three times is suspect: it ended well", () => {
    const answer: StepEvent = { kind: "message", role: "agent", text: "That is all there is to it." };
    expect(ends([...looping("a", 3), answer], true).verdict).toBe("suspect");
  });

  it("that moved on after three times is suspect, whether it is over or not", () => {
    const events = [...looping("a", 3), ...busy("a")];
    expect(ends(events, true).verdict).toBe("suspect");
  });
});
