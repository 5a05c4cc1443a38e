import type { StepEvent } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";
import { runStory, times } from "../run-story.test-support.ts";

// Each look-alike has a twin that differs in the one thing that excuses it.

const rejection =
  "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit)";

describe("the same test again", () => {
  it("after a change is how work is done", () => {
    const run = runStory();
    times(8, (n) => {
      run.does("Edit", `change ${n}`, `changed ${n}`);
      run.does("Bash", "npm test", "2 failed");
    });
    expect(run.loops()).toEqual([]);
    expect(run.state).toBe("HEALTHY");
  });

  it("without one is going nowhere, whatever is looked at in between", () => {
    const run = runStory();
    times(8, (n) => {
      run.does("Read", `file ${n}`, `content ${n}`);
      run.does("Bash", "npm test", "2 failed");
    });
    expect(run.loops()).toContain("identical-step:stuck");
    expect(run.state).toBe("STUCK");
  });

  it("is not excused by a change that was refused", () => {
    const run = runStory();
    times(8, (n) => {
      run.fails("Edit", `change ${n}`, `no match ${n}`);
      run.does("Bash", "npm test", "2 failed");
    });
    expect(run.loops()).toContain("identical-step:stuck");
  });
});

describe("asking how a job is getting on", () => {
  it("is waiting, however often nothing has come yet", () => {
    const run = runStory();
    times(25, () => run.does("BashOutput", "job 1", ""));
    expect(run.loops()).toEqual([]);
    expect(run.state).toBe("HEALTHY");
  });

  it("with a tool that is no poll is repetition, until the user says what the tool is", () => {
    const unknown = runStory();
    times(25, () => unknown.does("job_log", "job 1", ""));
    expect(unknown.state).toBe("STUCK");
    const told = runStory({ settings: { loops: { tool_classes: { job_log: "polls" } } } });
    times(25, () => told.does("job_log", "job 1", ""));
    expect(told.state).toBe("HEALTHY");
  });
});

describe("paging", () => {
  it("is reading on for as long as each page is new", () => {
    const run = runStory();
    times(30, (n) => run.does("next", "", `page ${n}`));
    expect(run.loops()).toEqual([]);
  });

  it("back and forth through pages it has seen is still no repeated call", () => {
    const run = runStory();
    times(6, (n) => run.does("scroll_down", "", `page ${n}`));
    times(6, (n) => run.does("scroll_up", "", `page ${5 - n}`));
    times(6, (n) => run.does("scroll_down", "", `page ${n}`));
    expect(run.loops()).toEqual([]);
  });

  it("of a tool that does no paging is", () => {
    const run = runStory();
    times(6, (n) => run.does("next", "", `page ${n}`));
    times(6, (n) => run.does("back", "", `page ${5 - n}`));
    times(6, (n) => run.does("next", "", `page ${n}`));
    expect(run.loops()).toContain("identical-call:stuck");
  });

  it("that shows the same page each time has reached the end", () => {
    const run = runStory();
    times(5, () => run.does("scroll_down", "", "the last page"));
    expect(run.loops()).toContain("identical-step:stuck");
  });
});

describe("one failure", () => {
  const eight = Array.from({ length: 8 }, (_, n) => n);

  it("of calls that ran side by side is one failure", () => {
    const run = runStory();
    run.doesTogether(
      "Bash",
      eight.map((n) => [`command ${n}`, `no disk, ${n}`, { failed: true, like: "no disk" }] as const),
    );
    expect(run.loops()).toEqual([]);
  });

  it("that a person refused after half an hour is no standstill: they have spoken", () => {
    for (const kind of ["tool_result", "error"] as const)
      for (const text of ["The user doesn't want to proceed with this tool use.", "done"]) {
        const run = runStory();
        run.does("Read", "a", "b");
        run.tell({ kind: "tool_call", tool: "Bash", args_digest: "rm" });
        run.agent.silentFor("2000s");
        run.tell({ kind, text_digest: "no", text_class: "no", failed: true, text });
        run.agent.silentFor("5s");
        expect(run.agent.past.filter((line) => line.includes("STUCK"))).toEqual([]);
      }
  });

  it("that cancels the calls beside it is one failure, by its text or told without it", () => {
    const told = [{ text: "<tool_use_error>Sibling tool call errored</tool_use_error>" }, { cancelled: true }];
    for (const how of told) {
      const run = runStory();
      times(9, (n) => {
        run.tell({ kind: "tool_call", tool: "Bash", args_digest: `command ${n}` });
        run.tell({ kind: "tool_result", text_digest: "x", text_class: "x", failed: true, ...how });
      });
      expect(run.loops()).toEqual([]);
    }
  });

  it("after the other is a row of failures", () => {
    const run = runStory();
    for (const n of eight) run.fails("Bash", `command ${n}`, `no disk, ${n}`, { like: "no disk" });
    expect(run.loops()).toContain("error-class:stuck");
    expect(run.state).toBe("STUCK");
  });
});

describe("a person who says no", () => {
  it("is there: what was never done has not failed", () => {
    const run = runStory();
    times(10, (n) => run.fails("Edit", `change ${n}`, "rejected", { text: rejection }));
    expect(run.loops()).toEqual([]);
    expect(run.state).toBe("HEALTHY");
  });

  it("cannot be known from digests alone, so that it counts as failing", () => {
    const run = runStory();
    times(10, (n) => run.fails("Edit", `change ${n}`, "rejected"));
    expect(run.loops()).toContain("error-class:stuck");
  });

  it("is not somebody quoted in good output", () => {
    const run = runStory();
    times(5, () => run.does("Bash", "grep rejected log", "a line", { text: "request rejected by user, says the log" }));
    expect(run.loops()).toContain("identical-step:stuck");
  });
});

describe("bookkeeping", () => {
  it("is neither work nor standstill", () => {
    const run = runStory();
    times(12, () => run.does("TodoWrite", "the same list", "saved"));
    expect(run.loops()).toEqual([]);
    expect(run.state).toBe("HEALTHY");
  });

  it("is what the known tools are, not any tool", () => {
    const run = runStory();
    times(12, () => run.does("save_list", "the same list", "saved"));
    expect(run.state).toBe("STUCK");
  });

  it("between identical failures does not hide them", () => {
    const run = runStory();
    times(6, (n) => {
      run.does("think", `thought ${n}`, "");
      run.fails("book", `attempt ${n}`, "does not add up");
    });
    expect(run.loops()).toContain("error-class:stuck");
  });

  it("between the same words does not make them new", () => {
    const run = runStory();
    times(5, (n) => {
      run.does("think", `thought ${n}`, "");
      run.says("I apologise, a new approach");
    });
    expect(run.loops()).toContain("same-words:stuck");
  });
});

describe("silence", () => {
  it("after the agent's own word is waiting for a person", () => {
    const run = runStory();
    times(3, (n) => run.does("Bash", `step ${n}`, `result ${n}`));
    run.says("Which of the two do you want?");
    run.agent.silentFor("2h");
    expect(run.agent.past).toEqual([]);
  });

  it("with a call open may be a permission prompt: never a verdict", () => {
    const run = runStory();
    times(3, (n) => run.does("Bash", `step ${n}`, `result ${n}`));
    run.tell({ kind: "tool_call", tool: "Bash", args_digest: "rm -r build" });
    run.agent.silentFor("2h");
    expect(run.agent.past.filter((change) => change.endsWith("STUCK"))).toEqual([]);
  });

  it("after a person's word may be a person who left: never a verdict", () => {
    const run = runStory();
    times(3, (n) => run.does("Bash", `step ${n}`, `result ${n}`));
    run.hears("wait");
    run.agent.silentFor("2h");
    expect(run.agent.past.filter((change) => change.endsWith("STUCK"))).toEqual([]);
  });

  it("of its tokens after a person's word is a warning, and is standing still when it is certainly the model's turn", () => {
    const levelAfter = (...last: StepEvent[]) => {
      const run = runStory();
      times(3, (n) => run.does("Bash", `step ${n}`, `result ${n}`));
      run.tell({ kind: "message", role: "agent", text_digest: "done", tokens: 900 });
      run.tell(...last);
      run.agent.silentFor("2h");
      return run.agent.finding("zero-tokens")?.level;
    };
    const wait: StepEvent = { kind: "message", role: "user", text_digest: "wait" };
    const call: StepEvent = { kind: "tool_call", tool: "Bash", args_digest: "next" };
    expect(levelAfter(wait)).toBe("degraded");
    expect(levelAfter(wait, call, { kind: "tool_result", text_digest: "next" })).toBe("stuck");
  });

  it("when it is certainly the model's turn is standing still", () => {
    const run = runStory();
    times(3, (n) => run.does("Bash", `step ${n}`, `result ${n}`));
    run.agent.silentFor("2h");
    expect(run.state).toBe("STUCK");
  });

  it("of an agent that beats or is held is that of its voice, and no standstill as well", () => {
    const beats = runStory();
    times(3, (n) => beats.does("Bash", `step ${n}`, `result ${n}`));
    beats.agent.beats();
    const held = runStory();
    held.agent.take({ kind: "held", hold: heldStory().holdOf(), adopted: false });
    times(3, (n) => held.does("Bash", `step ${n}`, `result ${n}`));
    for (const { agent } of [beats, held]) {
      agent.silentFor("2h");
      expect(agent.finding("no-progress")).toBeUndefined();
      expect(agent.finding("no-tool-call")).toBeUndefined();
    }
  });
});

describe("reading the same files again", () => {
  const reads = (run: ReturnType<typeof runStory>, files: number) =>
    times(files, (n) => run.does("Read", `file ${n}`, `content ${n}`));

  it("after a compaction is finding back", () => {
    const run = runStory();
    times(3, () => {
      run.hears("This session is being continued from a previous conversation");
      reads(run, 11);
      expect(run.loops()).toEqual([]);
      run.does("Edit", `change ${run.agent.now}`, `changed ${run.agent.now}`);
    });
    expect(run.agent.past).toEqual([]);
  });

  it("over and over is not", () => {
    const run = runStory();
    times(3, () => reads(run, 11));
    expect(run.loops()).toContain("no-novelty:stuck");
  });

  it("is not the same as different searches that all find nothing", () => {
    const run = runStory();
    times(11, (n) => run.does("Grep", `words ${n}`, "no matches"));
    expect(run.loops()).toContain("stale-results:stuck");
  });

  it("nor are commands that do their work in silence", () => {
    const run = runStory();
    times(15, (n) => run.does("Bash", `write file ${n}`, ""));
    expect(run.loops()).toEqual([]);
  });
});

describe("results that differ only in a number", () => {
  it("are different calculations when the questions differ", () => {
    const run = runStory();
    times(12, (n) => run.does("calculate", `${n} + ${n}`, `${2 * n}`, { like: "<n>" }));
    expect(run.loops()).toEqual([]);
  });

  it("are the same answer when the question is the same", () => {
    const run = runStory();
    times(5, (n) => run.does("calculate", "1 + 1", `2, after ${n} ms`, { like: "2, after <n> ms" }));
    expect(run.loops()).toContain("identical-step:stuck");
  });
});

describe('the word "error"', () => {
  it("in good output is no failure, nor is an outcome that is not known", () => {
    for (const failed of [false, null]) {
      const run = runStory();
      times(12, (n) =>
        run.does("Bash", `build ${n}`, `error: 0, ${n} ms`, { failed, like: "error: 0", text: "error: 0" }),
      );
      expect(run.loops()).toEqual([]);
    }
  });

  it("in good output makes the one failure after it no row of failures", () => {
    const run = runStory();
    times(9, (n) => run.does("Bash", `build ${n}`, `error: ${n}`, { like: "error: <n>" }));
    run.fails("Bash", "build", "error: 9", { like: "error: <n>" });
    expect(run.loops()).toEqual([]);
  });

  it("in a failure is one", () => {
    const run = runStory();
    times(6, (n) => run.fails("Bash", `build ${n}`, `error: 1, ${n} ms`, { like: "error: 1", text: "error: 1" }));
    expect(run.loops()).toContain("error-class:stuck");
  });
});

describe("replies without a call", () => {
  it("are a conversation when a person says something new in between", () => {
    const run = runStory();
    times(12, (n) => {
      run.hears(`question ${n}`);
      run.says(`answer ${n}`);
    });
    expect(run.loops()).toEqual([]);
  });

  it("are none when a harness says the same each time", () => {
    const run = runStory();
    times(12, (n) => {
      run.hears("please go on");
      run.says(`answer ${n}`);
    });
    expect(run.loops()).toContain("replies-only:stuck");
  });
});
