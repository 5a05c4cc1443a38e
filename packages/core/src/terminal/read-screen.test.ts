import { type AgentFamily, Sight } from "@rouse/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { patternsFor } from "./patterns.ts";
import { overtake, readScreen, startWatching } from "./read-screen.ts";
import type { Screen } from "./reading.ts";
import { screenOf } from "./screen.test-support.ts";

const noon = Date.UTC(2026, 9, 20, 12);

/** Looks at a terminal at some second; returns the sights. */
function watch(family: AgentFamily = "generic") {
  let state = startWatching(family);
  return (second: number, picture: string | Screen): readonly Sight[] => {
    const screen = typeof picture === "string" ? screenOf(picture) : picture;
    const reading = readScreen(state, screen, patternsFor(family), { now: noon + second * 1000, utcOffset: 0 });
    state = reading.state;
    return reading.sights;
  };
}
const asked = (sights: readonly Sight[]) => sights.filter(({ kind }) => kind === "asks" || kind === "asks-no-more");
const asks = (what: string, pattern: string) => [{ kind: "asks", what, pattern }];
const gone = [{ kind: "asks-no-more" }];

describe("what is written in place", () => {
  it("is new when the words are, and nothing at the first look", () => {
    const look = watch();
    expect(look(0, "step one")).toEqual([]);
    expect(look(1, "step two")).toEqual([{ kind: "output", rows: 0, novel: 1 }]);
    expect(look(2, "step one")).toEqual([]);
    expect(look(3, "45%")).toEqual([{ kind: "output", rows: 0, novel: 1 }]);
    expect(look(4, "46%")).toEqual([{ kind: "output", rows: 0, novel: 1 }]);
  });

  it("is not new when only a spinner turns, a timer runs, tokens are counted or all is painted again", () => {
    const look = watch("claude-code");
    look(0, "✻ Pondering… (3s · ↑ 1.2k tokens · esc to interrupt)\n\n[12:00:01]");
    expect(look(1, "✽ Pondering… (4s · ↑ 1.3k tokens · esc to interrupt)\n\n[12:00:02]")).toEqual([]);
    expect(look(2, "\n\n✶ Herding… (1m 4s · esc to interrupt)\n[12:00:03]")).toEqual([]);
  });

  it("is new in a full-screen program, too", () => {
    const look = watch();
    look(0, screenOf("~\n~\nINSERT", true));
    expect(look(1, screenOf("hello\n~\nINSERT", true))).toEqual([{ kind: "output", rows: 0, novel: 1 }]);
  });

  it("is looked for in the last twenty rows", () => {
    const look = watch();
    const below = Array.from({ length: 20 }, (_, n) => `row ${n}`).join("\n");
    look(0, `above\n${below}`);
    expect(look(1, `changed\n${below}`)).toEqual([]);
  });
});

describe("a request that is tried again", () => {
  it("is told once for each try, while it is the last thing that was printed", () => {
    const look = watch("codex");
    const retries = (second: number, picture: string) =>
      look(second, picture).flatMap((sight) => (sight.kind === "retries" ? [sight.attempt] : []));
    const before = "exec\n/bin/bash -lc 'ls -la' in /work\n succeeded in 0ms:\nhello.txt\n\n";
    expect(retries(0, `${before}ERROR: Reconnecting... 1/5`)).toEqual([1]);
    expect(retries(1, `${before}ERROR: Reconnecting... 1/5`)).toEqual([]);
    const after = `${before}ERROR: Reconnecting... 1/5\ncodex\nNow I change the greeting.`;
    expect(retries(9, after)).toEqual([]);
    expect(retries(20, `${after}\nERROR: Reconnecting... 1/5`)).toEqual([1]);
    expect(retries(29, `${after}\nERROR: Reconnecting... 1/5\nERROR: Reconnecting... 2/5`)).toEqual([2]);
  });
});

describe("a question of an ordinary command", () => {
  it.each([
    ["permission", "yes-or-no", "Overwrite a.txt? [y/N]"],
    ["permission", "yes-or-no", "Proceed? (Y/n):"],
    ["permission", "yes-or-no", "Are you sure you want to continue connecting (yes/no/[fingerprint])?"],
    ["permission", "yes-or-no", "(1/2) Stage this hunk [y,n,q,a,d,j,J,g,/,e,?]?"],
    ["permission", "yes-or-no", "Ok to proceed? (y)"],
    ["question", "password", "[sudo] password for ann:"],
    ["question", "password", "Enter passphrase for key '/home/ann/.ssh/id':"],
    ["question", "password", "Password:"],
    ["question", "press-a-key", "Press any key to continue . . ."],
    ["question", "press-a-key", "Press ENTER to continue"],
    ["question", "question-mark", "? Project name: (my-app)"],
  ])("(%s, %s) is told at once, once, and when it is gone: %s", (what, pattern, row) => {
    const look = watch();
    expect(asked(look(0, `some output\n${row}◂`))).toEqual(asks(what, pattern));
    expect(asked(look(1, `some output\n${row}◂`))).toEqual([]);
    expect(asked(look(2, `some output\n${row} y\nmore output◂`))).toEqual(gone);
    expect(asked(look(3, `some output\n${row} y\nmore output◂`))).toEqual([]);
  });

  it.each([
    "Overwrite a.txt? [y/N]\n◂",
    "Overwrite a.txt? [y/N] y◂",
    "It asks [y/N] before it overwrites.◂",
    "password:\n  value◂",
    "Password changed.◂",
    "Type (yes/no) in the box below.◂",
    "$ grep '[y/N]' src/◂",
    "Press any key handlers are removed◂",
    "?? untracked.txt◂",
    "45%◂",
  ])("is not: %s", (picture) => {
    expect(asked(watch()(0, picture))).toEqual([]);
  });

  it("is not looked for in a full-screen program", () => {
    expect(asked(watch()(0, screenOf("Overwrite a.txt? [y/N]◂", true)))).toEqual([]);
    expect(asked(watch()(0, screenOf("Overwrite a.txt? [y/N]◂", false)))).toEqual(asks("permission", "yes-or-no"));
  });
});

describe("a menu", () => {
  const menu = "│ Do you want to proceed?\n│ ❯ 1. Yes\n│   2. No, and tell Claude what to do differently (esc)";

  it("asks only below its question", () => {
    expect(asked(watch("claude-code")(0, menu))).toEqual(asks("permission", "claude-permission-menu"));
    expect(asked(watch("claude-code")(0, "Answers:\n❯ 1. Yes\n  2. No"))).toEqual([]);
    expect(asked(watch("claude-code")(0, "❯ 1. Yes\nDo you want to proceed?"))).toEqual([]);
  });

  it("asks only at the bottom of the screen", () => {
    const below = Array.from({ length: 12 }, (_, n) => `output ${n}`).join("\n");
    expect(asked(watch("claude-code")(0, `${menu}\n${below}`))).toEqual([]);
  });

  it("is not a permission where an agent only writes about one", () => {
    expect(asked(watch("claude-code")(0, "● It then asks: Do you want to proceed? and you pick 1. Yes"))).toEqual([]);
    expect(asked(watch("codex")(0, "• The tool asks Allow command? before it runs."))).toEqual([]);
  });
});

describe("an idle prompt", () => {
  const idle = "● Done.\n\n────────────\n❯\n────────────\n  ? for shortcuts";

  describe("above a footer that counts what was left running", () => {
    const footers = [
      "⏵⏵ accept edits on · 1 shell · ↓ to manage",
      "2 shells, 1 monitor · ? for shortcuts",
      "⏵⏵ accept edits on · 1 local agent",
      "3 background tasks · ↓ to manage",
    ];

    it.each(footers)("says what wakes it: %s", (footer) => {
      const look = watch("claude-code");
      const left = idle.replace("? for shortcuts", footer);
      look(0, left);
      expect(asked(look(2, left))).toEqual([{ ...asks("prompt", "claude-prompt")[0], wokenBy: "children" }]);
      expect(asked(look(3, left))).toEqual([]);
    });

    it.each(["? for shortcuts · shell", "1 shell script changed", "in 2 shells we trust"])("and not: %s", (footer) => {
      const look = watch("claude-code");
      look(0, idle.replace("? for shortcuts", footer));
      expect(asked(look(2, idle.replace("? for shortcuts", footer)))).toEqual(asks("prompt", "claude-prompt"));
    });

    it("is not found in what the agent says", () => {
      const look = watch("claude-code");
      const said = idle.replace("● Done.", "● Done.\n\n  1 shell · ↓ to manage");
      look(0, said);
      expect(asked(look(2, said))).toEqual(asks("prompt", "claude-prompt"));
    });

    it("is told anew when that has been over for a while, and not before: it is woken by then", () => {
      const look = watch("claude-code");
      const left = idle.replace("? for shortcuts", "1 shell · ↓ to manage");
      look(0, left);
      look(2, left);
      expect(asked(look(10, idle))).toEqual([]);
      expect(asked(look(11.9, idle))).toEqual([]);
      expect(asked(look(12, idle))).toEqual(asks("prompt", "claude-prompt"));
      expect(asked(look(13, left))).toEqual([]);
      expect(asked(look(14, idle.replace("● Done.", "✻ Pondering… (1s · esc to interrupt)")))).toEqual(gone);
    });
  });

  it("is told when it stood for two seconds, and when it is gone", () => {
    const look = watch("claude-code");
    expect(asked(look(0, idle))).toEqual([]);
    expect(asked(look(1.9, idle))).toEqual([]);
    expect(asked(look(2, idle))).toEqual(asks("prompt", "claude-prompt"));
    expect(asked(look(9, idle))).toEqual([]);
    expect(asked(look(10, idle.replace("❯", "❯ next task")))).toEqual(gone);
  });

  it("is not told while the rest of the screen changes", () => {
    const look = watch("claude-code");
    for (let second = 0; second < 20; second += 2) {
      expect(asked(look(second, idle.replace("Done", `Did ${second}`)))).toEqual([]);
    }
  });

  it("is told although a clock runs in the status line", () => {
    const look = watch("claude-code");
    look(0, `${idle} 12:00:00`);
    expect(asked(look(2, `${idle} 12:00:02`))).toEqual(asks("prompt", "claude-prompt"));
  });

  it.each([
    "✻ Pondering… (12s · ↑ 1.2k tokens · esc to interrupt)",
    "✶ Refactoring the parser…",
    "✻ 529 Overloaded · Retrying in 1s · attempt 1/10",
  ])("is none while the program says it is at work: %s", (marker) => {
    const look = watch("claude-code");
    look(0, idle.replace("● Done.", marker));
    expect(asked(look(60, idle.replace("● Done.", marker)))).toEqual([]);
  });

  it("is none while the footer says that the program is at work", () => {
    const look = watch("claude-code");
    const working = idle.replace("? for shortcuts", "⏵⏵ accept edits on (shift+tab to cycle) · esc to interrupt");
    look(0, working);
    expect(asked(look(60, working))).toEqual([]);
  });

  const words = [
    "I added the shortcut: Esc to cancel now closes the dialog.",
    "Press esc to interrupt",
    "The footer says Working (3s • esc to interrupt), and Ctrl+C to stop works.",
    "Its log ends with: upload failed · Retrying in 5s",
  ];
  it.each(words.flatMap((text) => [[text], [`The words:\n  ${text}`], [`The list:\n  * ${text}\n  * Loading…`]]))(
    "is one also when the model's last words speak of being at work: %s",
    (text) => {
      const [claude, codex, gemini] = [watch("claude-code"), watch("codex"), watch("gemini-cli")];
      const show = (second: number) => [
        claude(second, idle.replace("Done.", text)),
        codex(second, `• ${text}\n\n›◂\n\n  gpt-5-codex · 90% context left`),
        gemini(second, `✦ ${text}\n╭────╮\n│ >   Type your message or @path/to/file │\n╰────╯\n~/project`),
      ];
      show(0);
      expect(show(3).map((sights) => asked(sights).map((it) => it.kind === "asks" && it.what))).toEqual([
        ["prompt"],
        ["prompt"],
        ["prompt"],
      ]);
    },
  );

  it("is over as soon as the program is at work again", () => {
    const look = watch("claude-code");
    look(0, idle);
    look(2, idle);
    expect(asked(look(3, idle.replace("● Done.", "✻ Pondering… (1s · esc to interrupt)")))).toEqual(gone);
  });

  it("starts anew when the wall clock is set back", () => {
    const look = watch("claude-code");
    look(100, idle);
    expect(asked(look(0, idle))).toEqual([]);
    expect(asked(look(2, idle))).toEqual(asks("prompt", "claude-prompt"));
  });
});

describe("a limit that stands on the screen", () => {
  it("is told once, however long it stands, and not for tomorrow when its reset has come", () => {
    const look = watch("claude-code");
    const footer = "❯ hello\n──────\n  You've hit your limit · resets 12:10pm";
    look(0, "❯ hello");
    expect(look(1, footer)).toContainEqual({
      kind: "rate-limited",
      pattern: "claude-limit-hit",
      resetsInMs: 599_000,
      withinMs: 60_000,
      what: "usage",
    });
    for (const second of [2, 40, 300, 611, 8000]) expect(look(second, footer)).toEqual([]);
  });

  it("is told when it stands there at the first look", () => {
    expect(watch("claude-code")(0, "5-hour limit reached ∙ resets 3pm").map(({ kind }) => kind)).toEqual([
      "rate-limited",
    ]);
  });

  it("may be one of the context", () => {
    const look = watch("claude-code");
    look(0, "  ? for shortcuts");
    expect(look(1, "  ? for shortcuts        Context left until auto-compact: 0%")).toContainEqual({
      kind: "context-limit",
      pattern: "claude-context-low",
    });
  });

  it("does not make an error of what stands there", () => {
    const look = watch();
    look(0, "ok");
    expect(look(1, "Error: x").map(({ kind }) => kind)).toEqual(["output"]);
  });
});

describe("a limit on the screen of a known program", () => {
  const box = "──────────\n❯\n──────────\n  ? for shortcuts";
  const limited = (family: AgentFamily, picture: string) => {
    const look = watch(family);
    look(0, "…");
    return look(1, picture).some(({ kind }) => kind === "rate-limited");
  };

  it("is the program's own, not what a tool printed or a person typed", () => {
    const words = "API Error: 429 Too Many Requests";
    expect(limited("claude-code", `❯ go\n\n● ${words}\n\n${box}`)).toBe(true);
    expect(limited("claude-code", `❯ go\n\n● Bash(curl x)\n  ⎿  ${words}\n\n${box}`)).toBe(false);
    expect(limited("claude-code", `❯ what is this:\n  ${words}\n\n${box}`)).toBe(false);
    expect(limited("claude-code", `● Bash(cat log)\n  ⎿  1\n${"     x\n".repeat(30)}     ${words}\n\n${box}`)).toBe(
      false,
    );
    expect(limited("claude-code", `Rate limit exceeded, try again in 604800 seconds\n\n${box}`)).toBe(false);
  });

  it("nor is a full context what a tool printed", () => {
    const words = "Codex ran out of room in the model's context window. Start a new thread.";
    const full = (picture: string) => {
      const look = watch("codex");
      look(0, "…");
      return look(1, `${picture}\n\n› Ask Codex to do anything`).some(({ kind }) => kind === "context-limit");
    };
    expect(full(`■ ${words}`)).toBe(true);
    expect(full(`• Ran sh ./tool.sh\n  └ ${words}`)).toBe(false);
  });
});

describe("words that nobody has sent", () => {
  const rule = "──────────";
  const box = (inside: string) => `● Done.\n\n${rule}\n${inside}\n${rule}\n  ? for shortcuts`;
  /** What stands between `‹` and `›` is pale. */
  const drawn = (picture: string) => ({
    ...screenOf(picture.replace(/‹([^‹›]*)›/g, "$1")),
    firm: screenOf(picture.replace(/‹([^‹›]*)›/g, (_, hint: string) => " ".repeat(hint.length))).rows,
  });
  const draft = asks("draft", "half-typed line");

  it("are told once they were left for a moment, and once, until the input is empty again", () => {
    const look = watch("claude-code");
    look(0, drawn(box('❯ ‹Try "fix lint errors"›')));
    expect(asked(look(3, drawn(box('❯ ‹Try "fix lint errors"›'))))).toEqual(asks("prompt", "claude-prompt"));
    expect(asked(look(4, drawn(box("❯ delete"))))).toEqual(gone);
    expect(asked(look(5, drawn(box("❯ delete the"))))).toEqual([]);
    expect(asked(look(7, drawn(box("❯ delete the"))))).toEqual(draft);
    expect(asked(look(8, drawn(box("❯ delete the old"))))).toEqual([]);
    expect(asked(look(9, drawn(box("❯"))))).toEqual(gone);
    expect(asked(look(12, drawn(box("❯"))))).toEqual(asks("prompt", "claude-prompt"));
  });

  it.each<[AgentFamily, string, boolean]>([
    ["claude-code", box("❯ fix"), true],
    ["claude-code", box("❯ fix\n  and test"), true],
    ["claude-code", box("❯ ‹fix the tests›"), false],
    ["claude-code", `✻ Pondering… (3s · esc to interrupt)\n${box("❯ fix")}`, false],
    ["codex", "• Done.\n\n› fix◂\n\n  gpt-5-codex", true],
    ["codex", "• Done.\n\n› fix\n  and test◂\n\n  gpt-5-codex", true],
    ["codex", "• Done.\n\n› ‹Ask Codex to do anything›◂\n\n  gpt-5-codex", false],
    ["gemini-cli", "╭────╮\n│ > fix │\n╰────╯\n~/project", true],
    ["gemini-cli", "╭────╮\n│ >   Type your message or @path/to/file │\n╰────╯\n~/project", false],
    ["aider", "Applied edit to a.ts\n> fix◂", true],
    ["aider", "> fix\nThinking about it◂", false],
    ["generic", "$ rm -r◂", false],
  ])("(%s) in %j: %s", (family, picture, expected) => {
    const look = watch(family);
    look(0, drawn(picture));
    expect(asked(look(3, drawn(picture))).some((it) => it.kind === "asks" && it.what === "draft")).toBe(expected);
  });
});

describe("a question behind which another eye sees work", () => {
  const trust =
    "Do you trust the files in this folder?\n● 1. Trust folder (work)\n  2. Trust parent folder (home)\n  3. Don't trust";
  const work: Sight = { kind: "tool-ended", id: "t1", failed: false, resultDigest: "d" };
  const lookAt = (before: ReturnType<typeof startWatching>, second: number, picture: string) =>
    readScreen(before, screenOf(picture), patternsFor(before.family), { now: noon + second * 1000, utcOffset: 0 });

  it("is told again while it stands there, once for each time", () => {
    const first = lookAt(startWatching("gemini-cli"), 0, trust);
    expect(asked(first.sights)).toEqual(asks("trust", "gemini-trust-dialog"));
    expect(asked(lookAt(first.state, 1, trust).sights)).toEqual([]);
    const again = lookAt(overtake(first.state, [work]), 1, trust);
    expect(asked(again.sights)).toEqual(asks("trust", "gemini-trust-dialog"));
    expect(asked(lookAt(again.state, 2, trust).sights)).toEqual([]);
  });

  it("is over when it is gone from the screen, and what was told before it is none", () => {
    const first = lookAt(startWatching("gemini-cli"), 0, trust);
    expect(asked(lookAt(overtake(first.state, [work]), 1, "✦ Done.").sights)).toEqual(gone);
    expect(overtake(startWatching("gemini-cli"), [work]).overtaken).toBe(false);
    expect(overtake(first.state, [{ kind: "output", rows: 1, novel: 1 }]).overtaken).toBe(false);
  });

  it("is not told again while the program says that it is at work: then it is only words", () => {
    const busy = "Do you want to proceed?\n❯ 1. Yes\n  2. No\n\n✻ Pondering… (3s · esc to interrupt)";
    const first = lookAt(startWatching("claude-code"), 0, busy);
    expect(asked(first.sights)).not.toEqual([]);
    const next = lookAt(overtake(first.state, [work]), 1, busy);
    expect(asked(next.sights)).toEqual([]);
    const atRest = busy.replace(/\n\n.*$/, "");
    expect(asked(lookAt(next.state, 2, atRest).sights)).toEqual(asked(first.sights));
  });

  it("that only rests is not told again: it shows its prompt for a moment also when somebody has spoken", () => {
    const look = watch("claude-code");
    const prompt = "✻ Worked for 1s\n\n────\n❯\n────";
    look(0, prompt);
    expect(asked(look(3, prompt))).toHaveLength(1);
    const resting = { ...startWatching("claude-code"), asked: { what: "prompt", pattern: "p" } as const };
    expect(overtake(resting, [work])).toEqual(resting);
  });
});

it("whatever a screen shows, every sight fits the contract and the state stays bounded", () => {
  const row = fc.oneof(
    fc.constantFrom("❯", "❯ 1. Yes", "Do you want to x?", "[y/N]", "───"),
    fc.string({ maxLength: 30 }),
  );
  const screen = fc.record({
    rows: fc.array(row, { maxLength: 30 }),
    cursorRow: fc.integer({ min: -1, max: 40 }),
    alternate: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(screen, { maxLength: 40 }), (screens) => {
      let state = startWatching();
      let asking = false;
      for (const [n, picture] of screens.entries()) {
        const clock = { now: noon + n * 1000, utcOffset: 0 };
        const reading = readScreen(state, picture, patternsFor("claude-code"), clock);
        state = reading.state;
        for (const sight of reading.sights) {
          expect(Sight.safeParse(sight).success).toBe(true);
          if (sight.kind === "asks-no-more") expect(asking).toBe(true);
          if (sight.kind === "asks") asking = true;
          if (sight.kind === "asks-no-more") asking = false;
        }
        expect(asking).toBe(state.asked !== null);
      }
      expect(state.seen.size).toBeLessThanOrEqual(500);
    }),
    { numRuns: 50 },
  );
});
