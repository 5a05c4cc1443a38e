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
  find: (line: string) => (line === "<promise>COMPLETE</promise>" ? [line] : null),
};

/** A terminal into which lines are written at some second; returns the sights. */
function terminal(family: AgentFamily = "generic", atWork = () => false) {
  let state = startReading(family);
  const patterns = [marker, ...patternsFor(family)];
  return (second: number, ...lines: string[]): readonly Sight[] => {
    const reading = readLines(state, lines, patterns, { now: noon + second * 1000, utcOffset: 0 }, atWork());
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
  const limited = (pattern: string, resetsInMs: number | null): unknown =>
    expect.objectContaining({ kind: "rate-limited", pattern, resetsInMs });

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

describe("a completion marker in the lines", () => {
  const text = "<promise>COMPLETE</promise>";
  const isTold = (family: AgentFamily, ...lines: string[]) =>
    kinds(terminal(family)(0, ...lines)).includes("completed");

  it("is told each time it is the last thing said, and once for each", () => {
    const write = terminal();
    expect(write(0, text)).toContainEqual({ kind: "completed", pattern: "done" });
    expect(kinds(write(1, `  ${text}  `))).toContain("completed");
    expect(kinds(write(2, "Tokens: 3k sent"))).not.toContain("completed");
  });

  it.each<[AgentFamily, string[]]>([
    ["generic", [text, "", "cost: $0.10", "took 3s"]],
    ["claude-code", [`● ${text}`]],
    ["claude-code", ["● All done.", "", `  ${text}`, "", "✻ Worked for 1m", "  tip", "──────", "❯", "──────", "  ?"]],
    ["claude-code", ["● Bash(npm test)", "  ⎿  ok", "", "● All done.", `  ${text}`]],
    ["codex", ["• Ran npm test", "  └ ok", "", `• ${text}`]],
    ["gemini-cli", ["│ ✓  Shell ls │", "╰──────╯", `✦ ${text}`]],
    ["aider", [text, "Tokens: 3.2k sent, 120 received."]],
  ])("of %s is told at the end of what it says: %j", (family, lines) => {
    expect(isTold(family, ...lines)).toBe(true);
  });

  it.each<[string, AgentFamily, string[]]>([
    ["in a sentence", "generic", [`I will print ${text} when done`]],
    ["at the end of one", "generic", [`Done. ${text}`]],
    ["with a full stop", "generic", [`${text}.`]],
    ["quoted", "generic", [`> ${text}`]],
    ["in backticks", "generic", [`\`${text}\``]],
    ["in a diff", "generic", [`+${text}`]],
    ["in a diff, after a blank", "generic", [` + ${text}`]],
    ["in a listing", "generic", [`   12  ${text}`]],
    ["found by a search", "generic", [`prompt.md:7:${text}`]],
    ["set as code", "generic", [`    ${text}`]],
    ["in a fence", "generic", ["```", text, "```"]],
    ["in the midst of a fence", "generic", ["```md", "Say", text, "when done", "```", "so I will."]],
    ["in a fence that is not closed yet", "generic", ["~~~", text]],
    ["right above the end of a fence", "generic", ["…", text, "```"]],
    ["with an invisible character in it", "generic", ["<promise>COM\u200bPLETE</promise>"]],
    ["with an invisible character before it", "generic", [`\u200b${text}`]],
    ["in other letters", "generic", ["<promise>СOMPLETE</promise>"]],
    ["followed by work", "generic", [text, "a1", "b2", "c3", "d4", "e5"]],
    ["in a tool's output", "claude-code", ["● Bash(cat prompt.md)", `  ⎿  ${text}`]],
    ["further down in it", "claude-code", ["● Bash(cat prompt.md)", "  ⎿  Say", `     ${text}`]],
    ["in what a person typed", "claude-code", ["❯ do it and say", `  ${text}`]],
    ["in a tool's output", "codex", ["• Ran cat prompt.md", `  └ ${text}`]],
    ["further down in it", "codex", ["• Ran cat prompt.md", "  └ Say", `    ${text}`]],
    ["in a tool's output", "gemini-cli", ["│ ✓  Shell cat prompt.md │", `│ ${text} │`]],
    ["in what a person typed", "aider", [`> ${text}`]],
  ])("is none %s (%s): %j", (_, family, lines) => {
    expect(isTold(family, ...lines)).toBe(false);
  });

  it("is none in a tool's output or a fence that began in an earlier batch", () => {
    const claude = terminal("claude-code");
    claude(0, "● Bash(cat prompt.md)", "  ⎿  Say");
    expect(kinds(claude(1, `     ${text}`))).not.toContain("completed");
    const loop = terminal();
    loop(0, "```");
    expect(kinds(loop(1, text))).not.toContain("completed");
    loop(2, "```");
    expect(kinds(loop(3, text))).toContain("completed");
  });

  it("is told when the program is no longer at work, unless more than an afterword came meanwhile", () => {
    let busy = true;
    const write = terminal("claude-code", () => busy);
    expect(kinds(write(0, `● ${text}`))).toEqual(["output"]);
    busy = false;
    expect(kinds(write(5))).toEqual(["completed"]);
    busy = true;
    write(10, `● ${text}`);
    write(11, "● Now the next thing", "● and another", "● and one more", "● and a fourth", "● and a fifth");
    busy = false;
    expect(kinds(write(12))).toEqual([]);
  });
});

describe("words about waiting", () => {
  const resets = (family: AgentFamily, ...lines: string[]) =>
    terminal(family)(0, ...lines).flatMap((sight) => (sight.kind === "rate-limited" ? [sight.resetsInMs] : []));

  it.each([
    ["1000000000 seconds"],
    ["999999999 seconds"],
    ["-5 seconds"],
    ["٦٠ seconds"],
    ["６０ seconds"],
    ["1e9 seconds"],
  ])("that make no sense name no reset: in %s", (wait) => {
    expect(resets("generic", `Rate limit exceeded, try again in ${wait}, or retry after 9999999999`)).toEqual([null]);
  });

  it.each<[string, AgentFamily, string[]]>([
    ["in another program's words", "claude-code", ["Rate limit exceeded, try again in 604800 seconds"]],
    ["in another program's words", "codex", ["429 Too Many Requests"]],
    ["in a tool's output", "claude-code", ["● Bash(curl x)", "  ⎿  API Error: 429 Too Many Requests"]],
    [
      "further down in it",
      "claude-code",
      ["● Bash(curl x)", "  ⎿  so:", "       ⎿  You've hit your limit · resets 3pm"],
    ],
    [
      "in a tool's output",
      "codex",
      ["• Ran cat \\", "  │ log", "  └ You've hit your usage limit. Try again in 4 days."],
    ],
    ["in a tool's output", "gemini-cli", ["│ Attempt 1 failed with status 429. Please retry in 34s. │"]],
    ["in what a person typed", "claude-code", ["❯ what does this mean:", "  API Error: 429 Too Many Requests"]],
  ])("are not believed %s (%s): %j", (_, family, lines) => {
    expect(resets(family, ...lines)).toEqual([]);
  });

  it("are believed where the program hangs its own remarks below a row", () => {
    expect(resets("codex", "• Reconnecting... 2/5", "  └ Exceeded retry limit, last status: 429 Too Many")).toEqual([
      null,
    ]);
    expect(resets("claude-code", "● Bash(ls)", "  ⎿  a", "  ⎿  You've hit your limit · resets 1pm")).toEqual([
      3_600_000,
    ]);
    expect(resets("claude-code", "❯ go on", "", "  ⎿  You've hit your limit · resets 1pm")).toEqual([3_600_000]);
  });
});

describe("other things in the lines", () => {
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
