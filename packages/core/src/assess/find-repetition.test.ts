import { type LoopKind, loopKinds, type PartialSettings } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { runStory, times } from "../run-story.test-support.ts";
import { startAnew } from "../steps/step.ts";
import { dawn } from "../story.test-support.ts";

type Run = ReturnType<typeof runStory>;

interface Case {
  readonly kind: LoopKind;
  readonly suspect: number;
  readonly stuck: number;
  readonly confidence: number;
  readonly says: RegExp;
  /** The repeated step, for the nth time. */
  readonly again: (run: Run, n: number) => void;
  /** The same step with everything unknown that makes it the same. */
  readonly unknown: (run: Run, n: number) => void;
  /** Done once before, so that the repetition brings nothing new. */
  readonly before?: (run: Run) => void;
}

const cases: readonly Case[] = [
  {
    kind: "identical-step",
    suspect: 3,
    stuck: 5,
    confidence: 0.95,
    says: /the same call with the same result 5 times/,
    again: (run) => run.does("shell", "make", "nothing to do"),
    unknown: (run) => run.does("shell", null, "nothing to do", { like: null }),
  },
  {
    kind: "identical-call",
    suspect: 4,
    stuck: 6,
    confidence: 0.9,
    says: /the same call 6 times in a row/,
    before: (run) => {
      run.does("shell", "other", "one");
      run.does("shell", "another", "two");
    },
    again: (run, n) => run.does("shell", "make", ["one", "two"][n % 2] as string),
    unknown: (run, n) => run.does("shell", null, ["one", "two"][n % 2] as string),
  },
  {
    kind: "identical-change",
    suspect: 3,
    stuck: 5,
    confidence: 0.95,
    says: /the very same change applied 5 times/,
    again: (run, n) => run.does("edit", "insert line", `file of ${n} lines`),
    unknown: (run, n) => run.does("edit", null, `file of ${n} lines`),
  },
  {
    kind: "cycle",
    suspect: 3,
    stuck: 4,
    confidence: 0.9,
    says: /the same few steps 4 times over/,
    again: (run) => {
      run.does("shell", "make", "broken");
      run.does("edit", "try it so", "done");
      run.does("edit", "and back", "done");
    },
    unknown: (run) => {
      run.does("shell", null, null);
      run.does("edit", null, null);
      run.does("edit", null, null);
    },
  },
  {
    kind: "error-class",
    suspect: 3,
    stuck: 6,
    confidence: 0.9,
    says: /the same class of error 6 times in a row/,
    again: (run, n) => run.fails("shell", `try ${n}`, `no such file, line ${n}`, { like: "no such file, line <n>" }),
    unknown: (run, n) => run.fails("shell", `try ${n}`, null),
  },
  {
    kind: "error-streak",
    suspect: 5,
    stuck: 9,
    confidence: 0.8,
    says: /9 failures in a row/,
    again: (run, n) => run.fails(["shell", "fetch"][n % 2] as string, `try ${n}`, `trouble ${n}`),
    unknown: (run, n) => run.does("shell", `try ${n}`, `trouble ${n}`, { failed: null }),
  },
  {
    kind: "blocked-call",
    suspect: 4,
    stuck: 6,
    confidence: 0.8,
    says: /one call failed the same way 6 times/,
    again: (run, n) => {
      run.does("edit", `change ${n}`, `changed ${n}`);
      run.fails("shell", "make", "no compiler");
    },
    unknown: (run, n) => {
      run.does("edit", `change ${n}`, `changed ${n}`);
      run.fails("shell", null, "no compiler");
    },
  },
  {
    kind: "replies-only",
    suspect: 4,
    stuck: 7,
    confidence: 0.8,
    says: /7 replies in a row without a tool call/,
    again: (run, n) => run.says(`reply ${n}`),
    unknown: (run, n) => {
      run.says(null);
      run.hears(null);
      run.does("shell", `step ${n}`, `result ${n}`);
    },
  },
  {
    kind: "same-words",
    suspect: 3,
    stuck: 5,
    confidence: 0.8,
    says: /the same message 5 times/,
    before: (run) => run.does("shell", "ls", "files"),
    again: (run, n) => {
      run.does("shell", "ls", "files");
      run.says(`attempt ${n}, let me look again`, "attempt <n>, let me look again");
    },
    unknown: (run) => {
      run.does("shell", "ls", "files");
      run.says(null);
    },
  },
  {
    kind: "no-novelty",
    suspect: 12,
    stuck: 20,
    confidence: 0.85,
    says: /20 steps in a row with neither a new call nor a new result/,
    before: (run) => times(5, (n) => run.does("shell", `look ${n}`, `view ${n}`)),
    again: (run, n) => run.does("shell", `look ${(n * n) % 5}`, `view ${(n * n + n) % 5}`),
    unknown: (run) => run.does("shell", null, null),
  },
  {
    kind: "stale-results",
    suspect: 7,
    stuck: 10,
    confidence: 0.8,
    says: /10 of its last 20 steps brought a result it had already seen/,
    before: (run) => run.does("grep", "first words", "no matches", { like: null }),
    again: (run, n) => run.does("grep", `other words ${n}`, "no matches", { like: null }),
    unknown: (run, n) => run.does("grep", `other words ${n}`, null),
  },
];

const setting = (kind: LoopKind, change: object): PartialSettings => ({
  loops: { [kind.replaceAll("-", "_")]: change },
});

it("every loop has its story here", () => {
  expect(cases.map(({ kind }) => kind).toSorted()).toEqual([...loopKinds].toSorted());
});

describe.each(cases)("$kind", ({ kind, suspect, stuck, confidence, says, again, unknown, before }) => {
  it(`is a note from ${suspect} times on and makes the agent STUCK at ${stuck}, with its evidence`, () => {
    const run = runStory();
    before?.(run);
    times(suspect - 1, (n) => again(run, n));
    expect(run.loop(kind)).toBeUndefined();
    again(run, suspect - 1);
    expect(run.loop(kind)).toMatchObject({ level: "note", confidence: confidence / 2 });
    expect(run.loop(kind)?.evidence["times"]).toBe(suspect);
    for (let n = suspect; n < stuck; n++) {
      expect(run.loop(kind)?.level).toBe("note");
      again(run, n);
    }
    const found = run.loop(kind);
    expect(found).toMatchObject({ level: "stuck", confidence });
    expect(found?.text).toMatch(says);
    expect(found?.evidence["times"]).toBe(stuck);
    expect(String(found?.evidence["events"])).toMatch(/^\d+( \d+){3,11}$/);
    expect(run.state).toBe("STUCK");
  });

  it("takes nothing unknown for the same", () => {
    const run = runStory();
    before?.(run);
    times(25, (n) => unknown(run, n));
    expect(run.loop(kind)).toBeUndefined();
  });

  it("listens to its own thresholds", () => {
    const run = runStory({ settings: setting(kind, { suspect: 2, stuck: 3 }) });
    before?.(run);
    times(2, (n) => again(run, n));
    expect(run.loop(kind)?.level).toBe("note");
    again(run, 2);
    expect(run.loop(kind)?.level).toBe("stuck");
  });

  it("says nothing when it is switched off", () => {
    const run = runStory({ settings: setting(kind, { enabled: false }) });
    before?.(run);
    times(stuck + 2, (n) => again(run, n));
    expect(run.loop(kind)).toBeUndefined();
  });

  it("gives the agent its whole patience again after a new start", () => {
    const run = runStory();
    before?.(run);
    times(stuck - 1, (n) => again(run, n));
    const { record } = run.agent;
    const nudged = runStory({
      now: run.agent.now,
      record:
        record.seen.steps === null
          ? record
          : { ...record, seen: { ...record.seen, steps: startAnew(record.seen.steps) } },
    });
    times(suspect - 1, (n) => again(nudged, stuck + n));
    expect(nudged.loop(kind)).toBeUndefined();
    for (let n = suspect - 1; n < stuck; n++) again(nudged, stuck + n);
    expect(nudged.loop(kind)?.level).toBe("stuck");
  });
});

describe("rounds of several steps", () => {
  const goesRound = (steps: number): Run => {
    const run = runStory();
    times(4, () => times(steps, (n) => run.does("shell", `command ${n}`, `output ${n}`)));
    return run;
  };

  it.each([2, 3, 4, 5, 6, 7, 8])("are seen when they are %i steps long", (steps) => {
    expect(goesRound(steps).loop("cycle")).toMatchObject({ level: "stuck", evidence: { times: 4 } });
  });

  it("are not looked for beyond eight", () => {
    expect(goesRound(9).loop("cycle")).toBeUndefined();
  });

  it("are not the same step over and over", () => {
    expect(goesRound(1).loop("cycle")).toBeUndefined();
    const run = runStory();
    times(12, () => run.does("shell", "make", "nothing to do"));
    expect(run.loop("cycle")).toBeUndefined();
  });
});

describe("a loop that ends", () => {
  it("is over with the first step that is something else", () => {
    const run = runStory();
    times(5, () => run.does("shell", "make", "nothing to do"));
    expect(run.state).toBe("STUCK");
    run.does("edit", "a fix", "changed");
    expect(run.loops()).toEqual([]);
    expect(run.state).not.toBe("STUCK");
  });

  it("stands for as long as nothing else is heard", () => {
    const run = runStory();
    times(5, () => run.does("shell", "make", "nothing to do"));
    run.agent.silentFor("20s");
    expect(run.loops()).toContain("identical-step:stuck");
  });
});

describe("errors of the provider", () => {
  it("are told as waiting for the provider, by count and since when, and never as standing still", () => {
    const run = runStory();
    run.does("shell", "make", "ok");
    run.meetsApiError();
    run.meetsApiError();
    expect(run.agent.finding("api-errors")).toBeUndefined();
    run.agent.silentFor("57s");
    run.meetsApiError();
    expect(run.agent.finding("api-errors")).toMatchObject({ level: "note", evidence: { times: 3, sinceSeconds: 59 } });
    times(30, () => run.meetsApiError());
    expect(run.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "provider", since: dawn + 3000 });
    expect(run.loops()).toEqual([]);
    expect(run.state).toBe("HEALTHY");
  });

  it("are over with the next call", () => {
    const run = runStory();
    times(4, () => run.meetsApiError());
    run.does("shell", "make", "ok");
    expect(run.agent.finding("api-errors")).toBeUndefined();
  });
});

describe("tokens without anything new", () => {
  const spends = (run: Run, tokens: number) =>
    run.tell({ kind: "tool_call", tool: "shell", args_digest: "ls", tokens });
  const learns = (run: Run, what: string) => run.tell({ kind: "tool_result", text_digest: what, failed: false });

  it("are worth a note once they are many, and none again when something new comes", () => {
    const run = runStory();
    spends(run, 10_000);
    learns(run, "files");
    spends(run, 59_999);
    learns(run, "files");
    expect(run.agent.finding("token-burn")).toBeUndefined();
    spends(run, 60_000);
    expect(run.agent.finding("token-burn")).toMatchObject({ level: "note", evidence: { tokens: 50_000 } });
    learns(run, "other files");
    expect(run.agent.finding("token-burn")).toBeUndefined();
  });
});
