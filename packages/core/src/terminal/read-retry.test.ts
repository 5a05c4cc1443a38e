import { describe, expect, it } from "vitest";
import { readRetry } from "./read-retry.ts";

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

  it("is not what a tool or its model says of one", () => {
    for (const row of [`  ┃  ${message} [retrying in 7s attempt #1]`, `     ${message} [retrying in 7s attempt #1]`])
      expect(read(row, ...input, "   ⬝⬝⬝⬝⬝⬝⬝■  esc interrupt")).toBeNull();
  });
});
