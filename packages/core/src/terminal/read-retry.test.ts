import { describe, expect, it } from "vitest";
import { readRetry } from "./read-retry.ts";
import { readScreen, startWatching } from "./read-screen.ts";

const clock = { now: Date.UTC(2026, 10, 16, 22), utcOffset: 0 };
const read = (...rows: string[]) => readRetry(rows, "opencode", clock);
const input = ["  ┃", "  ┃  Build · Claude Sonnet 4.5 (latest) Anthropic", "  ╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀"];
const message = "Number of request tokens has exceeded your per-minute rate limit";

describe("a request that opencode tries again", () => {
  it("is told by the row below its input, with when that will be", () => {
    const row = `   ⬝⬝⬝⬝⬝⬝⬝■ ${message} [retrying in 7s attempt #3] esc interrupt`;
    expect(read(...input, row)).toEqual({ kind: "retries", attempt: 3, inMs: 7000, status: null });
  });

  it("is told where the window is too narrow for it", () => {
    expect(read(...input, `   ■■■■■■⬝⬝ ${message} [retrying in 14s attemp`)).toMatchObject({ inMs: 14_000 });
    expect(read(...input, `   ⬝⬝⬝${message} [retrying`, "      attempt #2]")).toMatchObject({ attempt: 2 });
  });

  it("is told once, and once more when it says how long that takes", () => {
    const says = [
      "attempt #1]",
      "attempt #1]",
      "in 7s attempt #1]",
      "in 6s attempt #1]",
      "attempt #1]",
      "in 3s attempt #2]",
    ];
    let state = startWatching("opencode");
    const told = says.flatMap((end) => {
      const rows = [...input, `   ⬝⬝⬝■ Overloaded [retrying ${end}`];
      const step = readScreen(state, { rows, cursorRow: 0, alternate: true }, [], clock);
      state = step.state;
      return step.sights.flatMap((sight) => (sight.kind === "retries" ? [[sight.attempt, sight.inMs]] : []));
    });
    expect(told).toEqual([
      [1, 0],
      [1, 7000],
      [2, 3000],
    ]);
  });

  it("is not what a tool or its model says of one", () => {
    for (const row of [`  ┃  ${message} [retrying in 7s attempt #1]`, `     ${message} [retrying in 7s attempt #1]`])
      expect(read(row, ...input, "   ⬝⬝⬝⬝⬝⬝⬝■  esc interrupt")).toBeNull();
  });
});
