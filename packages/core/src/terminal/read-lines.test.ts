import { type AgentFamily, Sight } from "@rouse/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { digestOf } from "./mask-text.ts";
import { patternsFor } from "./patterns.ts";
import { readLines, startReading } from "./read-lines.ts";

const noon = Date.UTC(2026, 9, 20, 12);
const marker = {
  kind: "completed" as const,
  name: "done",
  find: (line: string) => /<promise>COMPLETE<\/promise>/.exec(line),
};

/** A terminal into which lines are written at some second; gives what was seen of them. */
function terminal(family: AgentFamily = "generic") {
  let state = startReading();
  const patterns = [marker, ...patternsFor(family)];
  return (second: number, ...lines: string[]): readonly Sight[] => {
    const reading = readLines(state, lines, patterns, { now: noon + second * 1000, utcOffset: 0 });
    state = reading.state;
    return reading.sights;
  };
}
const kinds = (sights: readonly Sight[]) => sights.map(({ kind }) => kind);
const output = (rows: number, novel: number) => ({ kind: "output", rows, novel });

describe("lines written to a terminal", () => {
  it("are new the first time, and not when they come again", () => {
    const write = terminal();
    expect(write(0, "compiling a", "compiling b")).toEqual([output(2, 2)]);
    expect(write(1, "compiling a", "compiling c")).toEqual([output(2, 1)]);
    expect(write(2, "compiling a", "compiling a")).toEqual([output(2, 0)]);
  });

  it("are not new for another time, timer or token count, but for another count of work", () => {
    const write = terminal();
    write(0, "[12:00:01] waiting for the lock (3s)", "file 1 of 9", "⠋ Working ↑ 1.2k tokens");
    expect(write(1, "[12:00:09] waiting for the lock (11s)", "⠙ Working ↑ 1.4k tokens")).toEqual([output(2, 0)]);
    expect(write(2, "file 2 of 9")).toEqual([output(1, 1)]);
  });

  it("are neither new nor counted when blank, and a bare spinner is never new", () => {
    const write = terminal();
    expect(write(0, "", "   ", "\t")).toEqual([]);
    expect(write(1)).toEqual([]);
    expect(write(2, "⠋", "12s")).toEqual([output(2, 0)]);
  });

  it("are forgotten after five hundred others", () => {
    const write = terminal();
    write(0, "the first");
    write(1, ...Array.from({ length: 499 }, (_, n) => `line ${n}`));
    expect(write(2, "the first")).toEqual([output(1, 0)]);
    write(3, "one more");
    expect(write(4, "the first")).toEqual([output(1, 1)]);
  });

  it("leave the state they were read with as it was", () => {
    const state = startReading();
    const clock = { now: noon, utcOffset: 0 };
    const first = readLines(state, ["a", "Error: x"], patternsFor("generic"), clock);
    expect(state).toEqual(startReading());
    expect(readLines(state, ["a", "Error: x"], patternsFor("generic"), clock)).toEqual(first);
  });
});

describe("a rate limit in the lines", () => {
  const limited = (pattern: string, resetsInMs: number | null) => ({ kind: "rate-limited", pattern, resetsInMs });

  it("is told with the reset it names", () => {
    const write = terminal("claude-code");
    expect(write(0, "You've hit your limit · resets 1pm (Europe/Rome)")).toContainEqual(
      limited("claude-limit-hit", 3_600_000),
    );
  });

  it("is told with a reset that was wrapped into the next line", () => {
    const write = terminal("codex");
    const sights = write(
      0,
      "■ You've hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit",
      "https://chatgpt.com/codex/settings/usage to purchase more credits or try again at 2:51 PM.",
    );
    expect(sights).toContainEqual(limited("codex-usage-limit", (2 * 60 + 51) * 60_000));
  });

  it("is told at most every 30 seconds, but at once when the reset is another", () => {
    const write = terminal();
    const text = "Rate limited. Retrying in";
    expect(kinds(write(0, `${text} 5s`))).toContain("rate-limited");
    expect(kinds(write(1, `${text} 4s`))).not.toContain("rate-limited");
    expect(write(5, `${text} 20s`)).toContainEqual(limited("rate-limit-retry", 20_000));
    expect(kinds(write(34, "Rate limited, try again later"))).not.toContain("rate-limited");
    expect(write(35, "Rate limited, try again later")).toContainEqual(limited("rate-limit-retry", null));
    expect(write(36, `${text} 60s`)).toContainEqual(limited("rate-limit-retry", 60_000));
  });

  it("is not told for tomorrow when the same words are written again after the reset they named", () => {
    const write = terminal("claude-code");
    const text = "You've hit your limit · resets 12:10pm";
    expect(kinds(write(0, text))).toContain("rate-limited");
    expect(kinds(write(610, text))).not.toContain("rate-limited");
    expect(kinds(write(2 * 3600, text))).toContain("rate-limited");
  });

  it("is not also an error", () => {
    const write = terminal("claude-code");
    expect(kinds(write(0, "API Error: 529 Overloaded"))).toEqual(["output", "rate-limited"]);
  });
});

describe("an error in the lines", () => {
  const errors = (sights: readonly Sight[]) => sights.flatMap((sight) => (sight.kind === "error" ? [sight] : []));

  it("is told as its class, without what is particular", () => {
    const write = terminal();
    const [first] = errors(write(0, "Error: ENOENT: no such file, open '/home/ann/secret.txt'"));
    const [again] = errors(write(10, "Error: ENOENT: no such file, open '/home/ann/other.txt'"));
    expect(first).toEqual({
      kind: "error",
      pattern: "named-error",
      digest: digestOf("Error: ENOENT: no such file, open <text>"),
      text: "Error: ENOENT: no such file, open <text>",
    });
    expect(again).toEqual(first);
  });

  it("is one failure when one command complains many times over", () => {
    const write = terminal();
    const lines = Array.from({ length: 400 }, (_, n) => `src/a.ts(${n},1): error TS2304: Cannot find name 'x${n}'.`);
    expect(errors(write(0, ...lines))).toHaveLength(1);
    expect(errors(write(4, ...lines))).toHaveLength(0);
    expect(errors(write(5, ...lines))).toHaveLength(1);
  });

  it("in a traceback is the line that ends it, not the header all of them share", () => {
    const write = terminal();
    const traceback = (last: string) => [
      "Traceback (most recent call last):",
      '  File "/a/b.py", line 3, in main',
      "    raise Timeout(12)",
      last,
    ];
    expect(errors(write(0, ...traceback("requests.exceptions.Timeout: 12"))).map(({ text }) => text)).toEqual([
      "requests.exceptions.Timeout: #",
    ]);
    expect(errors(write(1, ...traceback("KeyError: 'x'"))).map(({ text }) => text)).toEqual(["KeyError: <text>"]);
    expect(errors(write(2, "an ordinary line"))).toEqual([]);
  });

  it("in a traceback is found in a tool's indented output and across batches, too", () => {
    const write = terminal("claude-code");
    expect(errors(write(0, "  ⎿  Traceback (most recent call last):", '       File "x.py", line 1'))).toEqual([]);
    expect(errors(write(1, "     ValueError: bad")).map(({ pattern }) => pattern)).toEqual(["named-error"]);
    expect(errors(write(2, "thread 'main' panicked at src/main.rs:4:5:", "index out of bounds"))).toMatchObject([
      { pattern: "rust-panic", text: "index out of bounds" },
    ]);
  });

  it("is not told more than fifty times in one go", () => {
    const write = terminal();
    const words = Array.from({ length: 300 }, (_, n) => `Error: ${"x".repeat(n + 1)}`);
    expect(errors(write(0, ...words))).toHaveLength(50);
  });
});

describe("other things in the lines", () => {
  it("a completion marker is told each time", () => {
    const write = terminal();
    expect(write(0, "<promise>COMPLETE</promise>")).toContainEqual({ kind: "completed", pattern: "done" });
    expect(kinds(write(1, "  <promise>COMPLETE</promise>  "))).toContain("completed");
  });

  it("a context limit is told at most once a minute", () => {
    const write = terminal("claude-code");
    expect(kinds(write(0, "Prompt is too long"))).toContain("context-limit");
    expect(kinds(write(59, "Prompt is too long"))).not.toContain("context-limit");
    expect(kinds(write(60, "Prompt is too long"))).toContain("context-limit");
  });

  it("a file is told by the digest of its path, the same from every program's words", () => {
    const touched = { kind: "file-touched", digest: digestOf("src/a.ts") };
    expect(terminal("claude-code")(0, "● Update(src/a.ts)")).toContainEqual(touched);
    expect(terminal("codex")(0, "  └ Read src/a.ts")).toContainEqual(touched);
    expect(terminal("gemini-cli")(0, "✓  Edit src/a.ts: a => b")).toContainEqual(touched);
    expect(terminal("aider")(0, "Applied edit to src/a.ts")).toContainEqual(touched);
    expect(
      terminal()(0, "Edit(src/a.ts)", "Edit(src/a.ts)").filter(({ kind }) => kind === "file-touched"),
    ).toHaveLength(2);
  });

  it("a prompt is not read from lines: whether it still stands shows only on the screen", () => {
    const write = terminal("claude-code");
    expect(kinds(write(0, "Do you want to proceed?", "❯ 1. Yes", "Continue? [y/N]", "Password:", "❯"))).toEqual([
      "output",
    ]);
  });
});

it("whatever is written, every sight fits the contract and the state stays bounded", () => {
  const word = fc.constantFrom(
    "Error: ",
    "429 Too Many Requests",
    "retry after ",
    "Traceback (most recent call last):",
    "Edit(",
    ")",
    " ",
    "9",
  );
  const line = fc
    .array(
      fc.oneof(
        word,
        fc.uint16Array({ maxLength: 20 }).map((units) => String.fromCharCode(...units)),
      ),
      { maxLength: 8 },
    )
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.array(fc.array(line, { maxLength: 10 }), { maxLength: 4 }), (batches) => {
      let state = startReading();
      for (const [n, lines] of batches.entries()) {
        const reading = readLines(state, lines, patternsFor("claude-code"), { now: noon + n, utcOffset: 0 });
        state = reading.state;
        for (const sight of reading.sights) expect(Sight.safeParse(sight).success).toBe(true);
      }
      expect(state.told.length).toBeLessThanOrEqual(50);
      expect(state.seen.size).toBeLessThanOrEqual(500);
    }),
    { numRuns: 40 },
  );
});
