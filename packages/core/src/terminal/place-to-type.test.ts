import type { AgentFamily } from "@rouse/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TypingScreen } from "./find-input.ts";
import { patternsFor } from "./patterns.ts";
import { expectEcho, findPlaceToType, isTaken, readEcho } from "./place-to-type.ts";
import type { Pattern } from "./reading.ts";
import { screenOf } from "./screen.test-support.ts";

/** A screen as it is drawn; what stands between `‹` and `›` is pale. */
function drawn(picture: string, alternate = false): TypingScreen {
  const pale = /‹([^‹›]*)›/g;
  const screen = screenOf(picture.replace(pale, "$1"), alternate);
  const firm = screenOf(
    picture.replace(pale, (_, hint: string) => " ".repeat(hint.length)),
    alternate,
  ).rows;
  return { ...screen, firm };
}

const judge = (family: AgentFamily, picture: string | TypingScreen, ...more: Pattern[]) => {
  const screen = typeof picture === "string" ? drawn(picture) : picture;
  const place = findPlaceToType(screen, family, [...more, ...patternsFor(family)]);
  return place.kind === "place" ? "place" : place.because;
};

const rule = "──────────────────────────";
const claudeBox = (inside: string) => `${rule}\n${inside}\n${rule}\n  ? for shortcuts`;

describe("Claude Code takes a message", () => {
  it("in its empty box, at rest and at work, wherever it leaves the cursor", () => {
    expect(judge("claude-code", `● Done.\n\n${claudeBox("❯")}`)).toBe("place");
    expect(judge("claude-code", `✻ Pondering… (3s · esc to interrupt)\n\n${claudeBox("❯")}\n◂`)).toBe("place");
    expect(judge("claude-code", `● Done.\n\n${claudeBox('❯ ‹Try "fix the tests"›')}`)).toBe("place");
    expect(judge("claude-code", "╭────────╮\n│ >      │\n╰────────╯\n  ? for shortcuts")).toBe("place");
  });

  it("after somebody's Escape, when it asks what to do instead", () => {
    const interrupted =
      "❯ can you change it?\n● Bash(sleep 9)\n  ⎿  $ sleep 9\n  ⎿  Interrupted · What should Claude do instead?";
    expect(judge("claude-code", `${interrupted}\n\n${claudeBox("❯")}`)).toBe("place");
    const atOnce = `❯ why is it red?\n${interrupted.split("\n").at(-1)}`;
    expect(judge("claude-code", `${atOnce}\n\n${claudeBox("❯")}`)).toBe("place");
    expect(judge("claude-code", `${interrupted.replace(" instead", "\n     instead")}\n\n${claudeBox("❯")}`)).toBe(
      "place",
    );
    expect(judge("claude-code", `${interrupted}\n● Shall I go on?\n\n${claudeBox("❯")}`)).toBe("asks");
    expect(judge("claude-code", `Overwrite it?\n${interrupted.split("\n").at(-1)}\n\n${claudeBox("❯")}`)).toBe("asks");
    expect(judge("claude-code", `${interrupted.replace("Interrupted · ", "")}\n\n${claudeBox("❯")}`)).toBe("asks");
  });

  it.each([
    ["one line", "❯ fix the"],
    ["one that looks like the suggestion", '❯ Try "fix the tests"'],
    ["several lines", "❯ first\n  second"],
    ["several lines, the first of them empty", "❯\n  second"],
    ["text before a pale suggestion", "❯ fix‹ the tests›"],
  ])("but not in a box with %s", (_, inside) => {
    expect(judge("claude-code", claudeBox(inside))).toBe("half-typed");
  });

  it("but not where a line would be a command, or where there is no box", () => {
    expect(judge("claude-code", claudeBox("! "))).toBe("no-input");
    expect(judge("claude-code", claudeBox("# "))).toBe("no-input");
    expect(judge("claude-code", "● Running…\n❯\n◂")).toBe("no-input");
    expect(judge("claude-code", "● Compiling\n◂")).toBe("no-input");
    expect(judge("claude-code", `❯\n${rule}\n◂`)).toBe("no-input");
    expect(judge("claude-code", `${claudeBox("❯")}\n${rule}\n something else\n${rule}`)).toBe("no-input");
  });

  it.each(["Use arrow keys to choose", "↑/↓ to navigate · esc back", "space to select, enter to confirm"])(
    "but not under a list nobody has described that explains its keys: %s",
    (keys) => {
      expect(judge("claude-code", `  Pick one\n    apples\n    pears\n  ${keys}\n\n${claudeBox("❯")}`)).toBe("asks");
    },
  );

  it("but not while it asks, or any menu is open", () => {
    const question = `Do you want to proceed?\n❯ 1. Yes\n  2. No\n${claudeBox("❯")}`;
    expect(judge("claude-code", question)).toBe("asks");
    expect(judge("claude-code", ` Select model\n  1. Default\n❯ 2. Opus\n  3. Haiku\n${claudeBox("❯")}`)).toBe("asks");
    expect(judge("claude-code", `Resume a session\n  Enter to select\n${claudeBox("❯")}`)).toBe("asks");
    expect(judge("claude-code", `❯ 1. do this and then that\n● Did it.\n${claudeBox("❯")}`)).toBe("place");
  });

  it("but on the alternate screen only where its box has the cursor", () => {
    expect(judge("claude-code", drawn(claudeBox("❯"), true))).toBe("full-screen");
    expect(judge("claude-code", drawn("the whole screen\n❯◂", true))).toBe("full-screen");
    expect(judge("claude-code", drawn(claudeBox("❯◂"), true))).toBe("place");
    expect(judge("claude-code", drawn(claudeBox("❯ and◂"), true))).toBe("half-typed");
  });
});

describe("Codex takes a message", () => {
  it("in its empty line under the cursor, at rest and at work", () => {
    expect(judge("codex", "• Done.\n\n› ‹Explain this codebase›◂\n\n  gpt-5-codex · 80% context left")).toBe("place");
    expect(judge("codex", "• Working (1s • esc to interrupt)\n\n›◂\n\n  gpt-5-codex")).toBe("place");
  });

  it("but not in one with text, nor elsewhere on the screen", () => {
    expect(judge("codex", "• Done.\n\n› Explain this◂\n\n  gpt-5-codex")).toBe("half-typed");
    expect(judge("codex", "• Done.\n\n›◂\n  a second line\n\n  gpt-5-codex")).toBe("half-typed");
    expect(judge("codex", "› \n\n• Working◂")).toBe("no-input");
    expect(judge("codex", "  Would you like to run it?\n\n› 1. Yes\n  2. No\n\n  Press enter to confirm◂")).toBe(
      "asks",
    );
  });
});

describe("Gemini CLI and aider take a message", () => {
  const gemini = (inside: string) => `✦ Done.\n╭──────────╮\n${inside}\n╰──────────╯\n~/project   gemini-3-pro`;

  it("in their empty lines", () => {
    expect(judge("gemini-cli", gemini("│ >   Type your message or @path/to/file │"))).toBe("place");
    expect(judge("gemini-cli", gemini("│ *   Type your message or @path/to/file │"))).toBe("place");
    expect(judge("aider", "Applied edit to src/b.ts\n>◂")).toBe("place");
    expect(judge("aider", "Applied edit to src/b.ts\narchitect>◂")).toBe("place");
  });

  it("but not in others", () => {
    expect(judge("gemini-cli", gemini("│ > Type your message to me │"))).toBe("half-typed");
    expect(judge("gemini-cli", gemini("│ !   Type your shell command │"))).toBe("no-input");
    expect(judge("aider", "> half◂")).toBe("half-typed");
    expect(judge("aider", "multi>◂")).toBe("no-input");
    expect(judge("aider", ">\nThinking◂")).toBe("half-typed");
  });
});

describe("opencode takes a message", () => {
  const border = "  ╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀\n  ctrl+p commands";
  const box = `  ┃◂\n  ┃  Build · GPT-5 OpenAI\n${border}`;

  it("in the empty box that ends with its row about itself", () => {
    expect(judge("opencode", box)).toBe("place");
    expect(judge("opencode", `  ┃◂\n  ┃  Delete the branch\n${border}`)).toBe("no-input");
  });

  it("but not below a question of its own, in whatever words, nor below a frame nobody has described", () => {
    expect(judge("opencode", `  ┃  △ Something needs your word\n\n${box}`)).toBe("asks");
    expect(judge("opencode", `  ┌──── History ────┐\n  │ older words     │\n\n${box}`)).toBe("asks");
  });
});

describe("any other command", () => {
  const described: Pattern = { kind: "at-prompt", name: "mine", find: (row) => /^❯\s*$/.exec(row) };

  it.each(["ready\n❯◂", "ready\n$◂", "ready\n>◂", `● Done.\n${claudeBox("❯")}`])(
    "takes none, whatever its prompt looks like and whoever described it: %s",
    (picture) => {
      expect(judge("generic", picture)).toBe("no-input");
      expect(judge("generic", picture, described)).toBe("no-input");
    },
  );
});

describe("what looks as if it wanted keys", () => {
  const inputs: Record<Exclude<AgentFamily, "generic" | "opencode">, string> = {
    "claude-code": claudeBox("❯"),
    codex: "›◂\n\n  gpt-5-codex · 80% context left",
    "gemini-cli": "╭──────────╮\n│ >   Type your message or @path/to/file │\n╰──────────╯\n~/project   gemini-3-pro",
    aider: ">◂",
  };
  const families = Object.keys(inputs) as (keyof typeof inputs)[];
  const above = (family: keyof typeof inputs, text: string) => judge(family, `${text}\n\n${inputs[family]}`);

  it.each(families)("is not there when %s merely rests", (family) => {
    expect(above(family, "All done: hello.txt says goodbye now.")).toBe("place");
    expect(above(family, "It is O(n), see file(s) a/b and and/or; ask Ann? No: it works (mostly).")).toBe("place");
  });

  const wanting = [
    "Datei ueberschreiben? [Enter] = ja",
    "Datei überschreiben? (j/n)",
    "Weiter mit beliebiger Taste: bitte drücken",
    "Press any key to continue . . .",
    "Hit RETURN when ready",
    "Overwrite the file?",
    "Overwrite [y/N]",
    "Proceed (yes/no):",
    "yes/no",
    "Enter = accept",
    "¿Sobrescribir? [s/n]",
    "Pulse una tecla para continuar",
    "上書きしますか？",
    "┌─ Unknown dialog ─┐\n│ Delete everything │\n│  <OK>   <Cancel>  │\n└──────────────────┘",
  ];

  it.each(families.flatMap((family) => wanting.map((text) => [family, text] as const)))(
    "keeps us from typing into the input of %s below: %s",
    (family, text) => {
      expect(above(family, text)).toBe("asks");
    },
  );

  it("keeps us from typing when it stands below the input, or when much has opened there", () => {
    for (const family of ["claude-code", "codex", "gemini-cli"] as const) {
      expect(judge(family, `● Done.\n\n${inputs[family]}\n  Overwrite? [Enter] = ja`)).toBe("asks");
      expect(judge(family, `● Done.\n\n${inputs[family]}\n  Really?`)).toBe("asks");
      expect(judge(family, `● Done.\n\n${inputs[family]}\n  /a\n  /b\n  /c\n  /d\n  /e`)).toBe("asks");
    }
  });

  it("keeps us from typing when a frame nobody has described has opened below the input", () => {
    const history = "┌──── History ────┐\n│ older words     │\n└─────────────────┘";
    expect(judge("claude-code", `● Done.\n\n${inputs["claude-code"]}\n${history}`)).toBe("asks");
  });

  it("is not what a person once asked the agent", () => {
    expect(judge("claude-code", `❯ why does it fail?\n\n● I will look.\n\n${inputs["claude-code"]}`)).toBe("place");
  });
});

describe("what was typed", () => {
  const patterns = patternsFor("aider");
  const text = "The last 5 calls were identical and failed with the same error.";

  function type(before: string, after: string, typed = text) {
    const screen = drawn(before);
    const place = findPlaceToType(screen, "aider", patterns);
    if (place.kind !== "place") throw new Error(place.because);
    const echo = readEcho(drawn(after), expectEcho(screen, "aider", place.input, typed), patterns);
    return echo.kind === "refused" ? echo.because : echo.kind;
  }

  it("is echoed when its end stands at the prompt, also broken into rows", () => {
    expect(type(">◂", `> ${text}◂`)).toBe("echoed");
    expect(type(">◂", "> The last 5 calls were identi\ncal and failed with the same e\nrror.◂")).toBe("echoed");
    expect(type(">◂", "> The last 5 calls were identical and failed with the same error.\n◂")).toBe("echoed");
  });

  it("is echoed when it is so long that its beginning has left the screen", () => {
    expect(type(">◂", "calls were identical\nand failed with the\nsame error.◂")).toBe("echoed");
  });

  it("is not echoed by nothing, by a part of it, by other words or by stars", () => {
    expect(type(">◂", ">◂")).toBe("not-yet");
    expect(type(">◂", `> ${text.slice(0, -1)}◂`)).toBe("not-yet");
    expect(type(">◂", "> something else◂")).toBe("not-yet");
    expect(type(">◂", `> ${"*".repeat(text.length)}◂`)).toBe("not-yet");
  });

  it("is not echoed by the same words that were said before", () => {
    expect(type(`> ${text}\nno answer\n>◂`, `> ${text}\nno answer\n>◂`)).toBe("not-yet");
    expect(type(`${text}\n>◂`, `${text}\n◂`)).toBe("not-yet");
    expect(type(`> ${text}\nno answer\n>◂`, `> ${text}\nno answer\n> ${text}◂`)).toBe("echoed");
  });

  it("is not sent into a menu or a full screen that came up meanwhile", () => {
    expect(type(">◂", `> ${text}◂\n\n  1. Send\n❯ 2. Delete`)).toBe("asks");
    const screen = drawn(">◂");
    const place = findPlaceToType(screen, "aider", patterns);
    if (place.kind !== "place") throw new Error(place.because);
    const echo = readEcho(drawn(`> ${text}◂`, true), expectEcho(screen, "aider", place.input, text), patterns);
    expect(echo).toEqual({ kind: "refused", because: "full-screen" });
  });

  it("is not sent when anything follows it, or a question came up beside it", () => {
    expect(type(">◂", `> ${text}◂\n  complete: --force`)).toBe("not-yet");
    expect(type(">◂", `Overwrite? [Enter] = ja\n\n> ${text}◂`)).toBe("asks");
  });

  it("is not sent on the alternate screen while the cursor has left it: Enter goes where the cursor is", () => {
    const claude = patternsFor("claude-code");
    const before = drawn(claudeBox("❯◂"), true);
    const place = findPlaceToType(before, "claude-code", claude);
    if (place.kind !== "place") throw new Error(place.because);
    const typed = expectEcho(before, "claude-code", place.input, text);
    const echo = (picture: string) => readEcho(drawn(picture, true), typed, claude).kind;
    expect(echo(`● Pick a file◂\n${claudeBox(`❯ ${text}`)}`)).toBe("not-yet");
    expect(echo(`● Pick a file\n${claudeBox(`❯ ${text}◂`)}`)).toBe("echoed");
  });

  it("may be about a question without being one", () => {
    const about = "It waits for an answer to: overwrite the file? [y/N]";
    expect(type(">◂", `> ${about}◂`, about)).toBe("echoed");
  });

  it("is seen in a box that has grown", () => {
    const before = drawn(claudeBox("❯"));
    const place = findPlaceToType(before, "claude-code", patternsFor("claude-code"));
    if (place.kind !== "place") throw new Error(place.because);
    const typed = expectEcho(before, "claude-code", place.input, text);
    const rows = claudeBox("❯ The last 5 calls were identical and\n  failed with the same error.");
    expect(readEcho(drawn(rows), typed, patternsFor("claude-code")).kind).toBe("echoed");
    const menu = ` Select model\n  1. Default\n❯ 2. Opus\n  3. Haiku\n${rows}`;
    expect(readEcho(drawn(menu), typed, patternsFor("claude-code"))).toEqual({ kind: "refused", because: "asks" });
    const above = `❯ ${text}\n${claudeBox("❯")}`;
    expect(readEcho(drawn(above), typed, patternsFor("claude-code")).kind).toBe("not-yet");
  });
});

describe("what was typed is taken", () => {
  const words = "The last 5 calls were identical and failed.";
  const taken = (before: string, after: string, family: AgentFamily = "claude-code"): boolean => {
    const place = findPlaceToType(drawn(before), family, patternsFor(family));
    if (place.kind !== "place") throw new Error(place.because);
    return isTaken(drawn(after), expectEcho(drawn(before), family, place.input, words));
  };
  const empty = claudeBox("❯");

  it("when it stands above the empty input as something that was said", () => {
    expect(taken(empty, `❯ ${words}\n\n✻ Pondering…\n${empty}`)).toBe(true);
    expect(taken("›◂", `› ${words}\n\n• Working (3s • esc to interrupt)\n\n›◂`, "codex")).toBe(true);
  });

  it("but not when it is gone, still in the input, waiting, or was said before", () => {
    expect(taken(empty, `● Done.\n${empty}`)).toBe(false);
    expect(taken(empty, claudeBox(`❯ ${words}`))).toBe(false);
    expect(taken(empty, `❯ ${words}\n${claudeBox("❯ and")}`)).toBe(false);
    expect(taken(empty, `❯ ${words}\n● Running…`)).toBe(false);
    expect(taken(empty, `❯ ${words}\n  ctrl+x ctrl+s to send now\n${empty}`)).toBe(false);
    expect(taken(empty, `❯ ${words}\n${claudeBox("❯ ‹Press up to edit queued messages›")}`)).toBe(false);
    expect(taken("›◂", `• Messages to be submitted after next tool call\n  ↳ ${words}\n\n›◂`, "codex")).toBe(false);
    expect(taken(`❯ ${words}\n● Done.\n${empty}`, `❯ ${words}\n● Done.\n${empty}`)).toBe(false);
  });
});

it("is no place between the choices of a menu, which would be seen only after it was typed into", () => {
  const rows = ["❯", "❯ 1. Yes", "> ", "", "  2. No"];
  const screen = { rows, firm: rows, cursorRow: 2, alternate: false };
  expect(findPlaceToType(screen, "aider", patternsFor("aider"))).toEqual({ kind: "refused", because: "asks" });
});

it("whatever a screen shows, a place is an empty line of it", () => {
  const row = fc.oneof(
    fc.constantFrom("❯", "›", "> ", "│ > │", rule, "❯ 1. Yes", "  2. No", "", "[y/N]"),
    fc.string({ maxLength: 30 }),
  );
  const screens = fc.record({
    rows: fc.array(row, { maxLength: 30 }),
    cursorRow: fc.integer({ min: -1, max: 40 }),
    alternate: fc.boolean(),
  });
  const family = fc.constantFrom<AgentFamily>("claude-code", "codex", "gemini-cli", "opencode", "aider", "generic");
  fc.assert(
    fc.property(screens, family, (picture, of) => {
      const screen = { ...picture, firm: picture.rows };
      const place = findPlaceToType(screen, of, patternsFor(of));
      if (place.kind === "refused") return;
      if (screen.alternate)
        expect(screen.cursorRow >= place.input.from && screen.cursorRow <= place.input.to).toBe(true);
      const { from, to, prompt } = place.input;
      const text = screen.rows
        .slice(from, to + 1)
        .join("")
        .slice(prompt.length);
      expect(text.replace(/[\s│┃▌]/g, "")).toBe("");
      expect(readEcho(screen, expectEcho(screen, of, place.input, "some words"), []).kind).toBe("not-yet");
    }),
    { numRuns: 2000 },
  );
});
