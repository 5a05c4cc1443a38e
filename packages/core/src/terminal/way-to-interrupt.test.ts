import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentFamily } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { patternsFor } from "./patterns.ts";
import { screenOf } from "./screen.test-support.ts";
import { findWayToInterrupt } from "./way-to-interrupt.ts";

function judge(family: AgentFamily, picture: string): string {
  const screen = screenOf(picture, true);
  const way = findWayToInterrupt({ ...screen, firm: screen.rows }, family, patternsFor(family));
  return way.kind === "escape" ? "escape" : way.because;
}

const rule = "──────────────────────────";
const claude = (footer: string, above = "● Bash(make)\n  ⎿  Error: Exit code 2") =>
  `${above}\n\n${rule}\n❯\n${rule}\n${footer}`;
const busyFooter = "  ⏵⏵ accept edits on (shift+tab to cycle) · esc to interrupt · ← for agents";

describe("Escape breaks off a turn", () => {
  it("of Claude Code while its footer says so, and of Codex while its status row does", () => {
    expect(judge("claude-code", claude(busyFooter))).toBe("escape");
    expect(judge("claude-code", claude("  esc to interrupt"))).toBe("escape");
    expect(
      judge("codex", "• Ran make\n  └ error\n\n• Working (2m 46s • esc to interrupt)\n\n› ◂\n\n  ? for shortcuts"),
    ).toBe("escape");
  });

  it("but not where they are at rest: there it means something else", () => {
    expect(judge("claude-code", claude("  ? for shortcuts"))).toBe("not-busy");
    expect(judge("claude-code", claude("  ⏵⏵ accept edits on (shift+tab to cycle)"))).toBe("not-busy");
    expect(judge("codex", "• Done.\n\n› ◂\n\n  ? for shortcuts")).toBe("not-busy");
  });

  it("but not because its model says those words, nor while it waits for its limit to end", () => {
    expect(judge("claude-code", claude("  ? for shortcuts", `● Press ${busyFooter}`))).toBe("not-busy");
    expect(judge("claude-code", `● text\n${busyFooter}\n◂`)).toBe("not-busy");
    expect(judge("claude-code", claude("  continuing automatically at 2:09pm · esc to cancel"))).toBe("not-busy");
    expect(judge("codex", "• I would say: Working (esc to interrupt)\n\n› ◂")).toBe("not-busy");
  });

  it("but not while a question is open: there it means no", () => {
    const menu = "Do you want to proceed?\n❯ 1. Yes\n  2. No";
    expect(judge("claude-code", claude(busyFooter, menu))).toBe("asks");
    expect(judge("codex", "Would you like to run this?\n› 1. Yes\n  2. No\n• Working (3s • esc to interrupt)\n◂")).toBe(
      "asks",
    );
  });

  it("but in no program of which that is not known", () => {
    for (const family of ["gemini-cli", "opencode", "aider", "generic"] as const)
      expect(judge(family, claude(busyFooter)), family).toBe("no-way");
  });
});

/** Screens of the real programs, where they were recorded. */
const recordings = "/work/shared/real-agents/recordings/screens";

it("on recorded screens, Escape is pressed where the program says what it does, and nowhere else", ({ skip }) => {
  if (!existsSync(recordings)) skip(`NOT TRIED on screens of real programs: there is no ${recordings}`);
  const verdicts = readdirSync(recordings).flatMap((name) => {
    const family = name.startsWith("xt-") ? "codex" : /^(?:t|tf|oat|claude)-/.test(name) ? "claude-code" : null;
    if (family === null) return [];
    const picture = readFileSync(join(recordings, name), "utf8").trimEnd();
    return [{ name, says: /esc to interrupt/.test(picture), verdict: judge(family, picture) }];
  });
  expect(verdicts.length).toBeGreaterThan(30);
  expect(verdicts.filter(({ says, verdict }) => (verdict === "escape") !== says)).toEqual([]);
});
