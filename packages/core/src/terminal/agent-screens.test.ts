import type { AgentFamily, Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { patternsFor } from "./patterns.ts";
import { readLines, startReading } from "./read-lines.ts";
import { readScreen, startWatching } from "./read-screen.ts";
import { screenOf } from "./screen.test-support.ts";

// One working hour of each program, as its terminal shows it. Screens follow the layouts of August 2026.

function follow(family: AgentFamily) {
  let lineState = startReading(family);
  let screenState = startWatching(family);
  const patterns = patternsFor(family);
  const clockAt = (second: number) => ({ now: Date.UTC(2026, 9, 20, 12) + second * 1000, utcOffset: 0 });
  return {
    prints(second: number, ...lines: string[]) {
      const reading = readLines(lineState, lines, patterns, clockAt(second));
      lineState = reading.state;
      return told(reading.sights);
    },
    shows(second: number, picture: string, alternate = false) {
      const reading = readScreen(screenState, screenOf(picture, alternate), patterns, clockAt(second));
      screenState = reading.state;
      return told(reading.sights);
    },
  };
}

/** The relevant sights, in words. */
function told(sights: readonly Sight[]): string[] {
  return sights.flatMap((sight) => {
    switch (sight.kind) {
      case "output":
        return sight.novel > 0 ? ["new"] : [];
      case "asks":
        return [`asks ${sight.what}`];
      case "rate-limited":
        return [`limited ${sight.resetsInMs === null ? "?" : sight.resetsInMs / 1000}`];
      case "error":
        return [`error ${sight.text}`];
      default:
        return [sight.kind];
    }
  });
}

describe("Claude Code", () => {
  const box = "──────────────────────────\n❯\n──────────────────────────\n  ? for shortcuts";

  it("works, asks, is answered, is put off, and rests", () => {
    const claude = follow("claude-code");
    const working = (glyph: string, time: string) =>
      `${glyph} Pondering… (${time} · ↑ 1.2k tokens · esc to interrupt)\n\n${box}`;
    claude.shows(0, working("✻", "1s"));
    expect(claude.shows(30, working("✽", "31s"))).toEqual([]);
    expect(claude.shows(600, working("✳", "10m 1s"))).toEqual([]);
    expect(claude.prints(601, "● Update(src/a.ts)", "  ⎿  Updated src/a.ts with 2 additions")).toEqual([
      "new",
      "file-touched",
    ]);
    const question = `
● Bash(rm -rf build)
╭──────────────────────────────────────────────────────╮
│ Bash command                                         │
│                                                      │
│   rm -rf build                                       │
│                                                      │
│ Do you want to proceed?                              │
│ ❯ 1. Yes                                             │
│   2. Yes, and don't ask again for rm commands        │
│   3. No, and tell Claude what to do differently (esc)│
╰──────────────────────────────────────────────────────╯`;
    expect(claude.shows(602, question)).toContain("asks permission");
    expect(claude.shows(700, question.replace("❯ 1.", "  1.").replace("  2. Yes", "❯ 2. Yes"))).not.toContain(
      "asks-no-more",
    );
    expect(claude.shows(701, working("✢", "2s"))).toContain("asks-no-more");
    expect(claude.prints(800, "  ⎿  You've hit your session limit · resets 12:50pm (Europe/Paris)")).toEqual([
      "new",
      `limited ${50 * 60 - 800}`,
    ]);
    const menu = `
   What do you want to do?

   ❯ 1. Stop and wait for limit to reset
     2. Upgrade your plan

   Enter to confirm · Esc to cancel`;
    expect(claude.shows(801, menu)).toContain("asks question");
    const rests = `● All tests pass.\n\n✻ Worked for 1m 52s\n\n${box}`;
    expect(claude.shows(3000, rests)).toContain("asks-no-more");
    expect(claude.shows(3003, rests)).toEqual(["asks prompt"]);
  });

  it("asks whether a folder is trusted, and which plan is meant", () => {
    const trust =
      "Do you trust the files in this folder?\n\n ❯ 1. Yes, proceed\n   2. No, exit\n\n Enter to confirm · Esc to exit";
    expect(follow("claude-code").shows(0, trust)).toEqual(["asks trust"]);
    const choice =
      "☐ Storage\n\nWhich store do you want?\n\n❯ 1. SQLite\n  2. PostgreSQL\n\nEnter to select · ↑/↓ to navigate · Esc to cancel";
    expect(follow("claude-code").shows(0, choice)).toEqual(["asks question"]);
  });

  it("is ended by an error of its provider until something else is said", () => {
    const failed = `❯ go\n\n● API Error: 500 Internal server error\n\n✻ Baked for 3s · done 2:02 PM\n\n${box}`;
    expect(follow("claude-code").shows(0, failed)).toEqual(["asks api-error"]);
    const passed = failed.replace("✻ Baked", "❯ go on\n\n● Done.\n\n✻ Baked");
    const claude = follow("claude-code");
    expect(claude.shows(0, passed)).toEqual([]);
    expect(claude.shows(2, passed)).toEqual(["asks prompt"]);
    const limited = failed.replace("500 Internal server error", "Request rejected (429) · try again later");
    expect(follow("claude-code").shows(0, limited)).not.toContain("asks api-error");
  });

  it("rests in the older box, and with a suggestion in it", () => {
    for (const row of ["│ >                      │", '│ > Try "fix the tests"  │']) {
      const claude = follow("claude-code");
      const rests = `╭────────────────────────╮\n${row}\n╰────────────────────────╯\n  ? for shortcuts`;
      claude.shows(0, rests);
      expect(claude.shows(2, rests)).toEqual(["asks prompt"]);
    }
  });
});

describe("Codex", () => {
  it("neither rests nor asks while it starts, whatever its input looks like", () => {
    const codex = follow("codex");
    const starts = "  >_ OpenAI Codex (v0.166.0)\n\n› Ask Codex to do anything◂\n\n  ? for shortcuts";
    codex.shows(0, starts, true);
    expect(codex.shows(3, starts, true)).toEqual([]);
    const rests = starts.replace("  ? for", "  gpt-5-codex default · /work\n  ← for agents · ? for");
    codex.shows(4, rests, true);
    expect(codex.shows(7, rests, true)).toEqual(["asks prompt"]);
  });

  it("works, asks, fails, is put off, and rests, also on the alternate screen", () => {
    for (const alternate of [false, true]) {
      const codex = follow("codex");
      codex.shows(
        0,
        "• Working (1s • esc to interrupt)\n\n› Explain this codebase◂\n\n  gpt-5-codex · 90% context left",
        alternate,
      );
      expect(
        codex.shows(
          60,
          "• Working (1m 1s • esc to interrupt)\n\n› Explain this codebase◂\n\n  gpt-5-codex · 90% context left",
          alternate,
        ),
      ).toEqual([]);
      const question = `
  Would you like to run the following command?

  $ npm install

› 1. Yes, proceed (y)
  2. Yes, and don't ask again for commands that start with \`npm install\` (p)
  3. No, and tell Codex what to do differently (esc)

  Press enter to confirm or esc to cancel`;
      expect(codex.shows(61, question, alternate)).toContain("asks permission");
      expect(codex.shows(62, "• Working (2s • esc to interrupt)\n\n›◂", alternate)).toContain("asks-no-more");
      expect(codex.prints(63, "• Edited src/a.ts (+3 -1)", "  └ Error: Cannot find module 'x'")).toEqual([
        "new",
        "file-touched",
        "error Error: Cannot find module <text>",
      ]);
      expect(codex.prints(64, "■ You've hit your usage limit. Try again in 2 hours 5 minutes.")).toEqual([
        "new",
        `limited ${125 * 60}`,
      ]);
      const rests = "• Done.\n\n› Explain this codebase◂\n\n  gpt-5-codex · 80% context left";
      codex.shows(70, rests, alternate);
      expect(codex.shows(72, rests, alternate)).toEqual(["asks prompt"]);
    }
  });

  it("asked in the older words, and asks questions with notes", () => {
    expect(follow("codex").shows(0, "▌Allow command?\n▌\n▌ Yes   Always   No")).toEqual(["asks permission"]);
    expect(
      follow("codex").shows(
        0,
        "Which one?\n› 1. This\n  2. That\ntab to add notes | enter to submit answer | esc to interrupt",
      ),
    ).toEqual(["asks question"]);
  });
});

describe("Gemini CLI", () => {
  it("works, asks, is put off, and rests", () => {
    const gemini = follow("gemini-cli");
    const input =
      "╭──────────╮\n│ >   Type your message or @path/to/file │\n╰──────────╯\n~/project   gemini-3-pro (99% context left)";
    gemini.shows(0, `⠋ Reading the map (esc to cancel, 3s)\n${input}`);
    expect(gemini.shows(60, `⠙ Reading the map (esc to cancel, 1m 3s)\n${input}`)).toEqual([]);
    const change = `
│ ?  Edit src/a.ts: a => b                 │
│ 1 - a                                    │
│ 1 + b                                    │
│ Apply this change?                       │
│ ● 1. Yes, allow once                     │
│   2. Yes, allow always                   │
│   3. Modify with external editor         │
│   4. No, suggest changes (esc)           │
╰──────────────────────────────────────────╯
⠏ Waiting for user confirmation...`;
    expect(gemini.shows(61, change)).toContain("asks permission");
    expect(gemini.shows(62, change.replace("Apply this change?", "Allow execution of: 'rm'?"))).not.toContain(
      "asks-no-more",
    );
    const asking = "Which one?\n● 1. A\n  2. B\nEnter to select · ↑/↓ to navigate · Esc to cancel";
    expect(gemini.shows(63, asking)).toContain("asks question");
    expect(
      gemini.prints(64, "Attempt 1 failed with status 429. Retrying with backoff... Please retry in 34s."),
    ).toEqual(["new", "limited 34"]);
    expect(gemini.shows(70, `✦ Done.\n${input}`)).toContain("asks-no-more");
    expect(gemini.shows(72, `✦ Done.\n${input}`)).toEqual(["asks prompt"]);
  });
});

describe("aider", () => {
  it("works, asks, is put off, and rests", () => {
    const aider = follow("aider");
    aider.shows(0, "Tokens: 3.2k sent\n◂");
    expect(
      aider.shows(1, "src/b.ts\nAdd file to the chat? (Y)es/(N)o/(A)ll/(S)kip all/(D)on't ask again [Yes]:◂"),
    ).toContain("asks permission");
    expect(aider.shows(2, "Add file to the chat? (Y)es/(N)o/(A)ll/(S)kip all/(D)on't ask again [Yes]: y\n◂")).toContain(
      "asks-no-more",
    );
    expect(aider.prints(3, "Applied edit to src/b.ts")).toEqual(["new", "file-touched"]);
    expect(aider.prints(4, "litellm.RateLimitError: OpenAIException", "Retrying in 0.2 seconds...")).toEqual([
      "new",
      "limited 0.2",
    ]);
    for (const prompt of [">", "architect>", "ask multi>"]) {
      const look = follow("aider");
      look.shows(5, `Applied edit to src/b.ts\n${prompt}◂`);
      expect(look.shows(7, `Applied edit to src/b.ts\n${prompt}◂`)).toEqual(["asks prompt"]);
    }
    const quotes = follow("aider");
    quotes.shows(0, ">\nmore◂");
    expect(quotes.shows(9, ">\nmore◂")).toEqual([]);
  });
});

describe("a shell loop", () => {
  it("prints, repeats itself, fails and asks", () => {
    const loop = follow("generic");
    expect(loop.prints(0, "polling the queue at 12:00:00")).toEqual(["new"]);
    expect(loop.prints(60, "polling the queue at 12:01:00")).toEqual([]);
    expect(loop.prints(120, "curl failed", "bash: jq: command not found")).toEqual([
      "new",
      "error bash: jq: command not found",
    ]);
    loop.shows(121, "polling the queue\n◂");
    expect(loop.shows(122, "polling the queue\nDelete all? [y/N]◂")).toEqual(["new", "asks permission"]);
    expect(loop.shows(123, "polling the queue\nDelete all? [y/N] n\nkept\n◂")).toEqual(["new", "asks-no-more"]);
  });
});
