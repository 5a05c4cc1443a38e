import { describe, expect, it } from "vitest";
import { readRetry } from "./read-retry.ts";
import { overtake, readScreen, startWatching } from "./read-screen.ts";

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
      [1, 5000],
      [1, 7000],
      [2, 3000],
    ]);
  });

  /** The sights of each picture, one second apart. */
  const watch = (...pictures: (readonly string[])[]) => {
    let state = startWatching("opencode");
    return pictures.map((rows, second) => {
      const look = { now: clock.now + second * 1000, utcOffset: 0 };
      const step = readScreen(state, { rows: [...input, ...rows], cursorRow: 0, alternate: true }, [], look);
      state = step.state;
      return step.sights.flatMap((sight) => (sight.kind === "retries" ? [sight.inMs] : []));
    });
  };
  const counting = (left: number) => [`   ■■■■■⬝⬝⬝ Provider is overloaded [retrying in ${left}s attempt #`];
  const working = ["   ⬝⬝⬝⬝⬝⬝⬝⬝  esc interrupt      9.2K (1%)  ctrl+p commands"];

  it("is told again for each try where the number of the try is cut off", () => {
    expect(watch(counting(2), counting(1), counting(8), counting(7))).toEqual([[2000], [], [8000], []]);
    expect(watch(counting(9), counting(20))).toEqual([[9000], [20_000]]);
    expect(watch(counting(2), working, counting(2))).toEqual([[2000], [], [2000]]);
  });

  it("is told again when its time is up and it still stands there, and when anything else was drawn beside it", () => {
    expect(watch(counting(2), counting(1), counting(1), counting(1), counting(1))).toEqual([
      [2000],
      [],
      [5000],
      [],
      [],
    ]);
    expect(watch(counting(9), ["  a tip that was not there", ...counting(8)])).toEqual([[9000], [8000]]);
  });

  it("is told again when another eye has told of work and it still stands there", () => {
    const screen = { rows: [...input, ...counting(9)], cursorRow: 0, alternate: true };
    const { state } = readScreen(startWatching("opencode"), screen, [], clock);
    const told = (from: typeof state) => readScreen(from, screen, [], clock).sights;
    expect(told(state)).toEqual([]);
    expect(told(overtake(state, [{ kind: "model-asked" }]))).toMatchObject([{ kind: "retries", inMs: 9000 }]);
  });

  it.each([
    ["44", ["   ⬝⬝Number of request tokens has exceeded y", "     minute rate limit [retrying in 13s atte"], 13_000],
    [
      "60",
      ["   ■■■■Number of request tokens has exceeded your per-minute", "       limit [retrying in 7s attempt #1]"],
      7000,
    ],
    ["30", ["   ⬝⬝Number of request tokens", "     has exceeded your per-min"], 0],
  ])("is told in a window of %s columns, whatever is cut off", (columns, rows, inMs) => {
    const frame = `  ╹${"▀".repeat(Number(columns) - 5)}`;
    expect(read("  ┃", frame, ...rows)).toMatchObject({ kind: "retries", inMs });
    expect(
      read("  ┃", frame, "   ⬝⬝⬝⬝⬝⬝⬝⬝  esc     tab      ctrl+p", "             interrupagents   commands"),
    ).toBeNull();
  });

  it("is not what a tool or its model says of one", () => {
    const line = `${message} [retrying in 7s attempt #1]`;
    for (const row of [`  ┃  ${line}`, `     ${line}`, `   ⬝⬝⬝■ ${line}`])
      expect(read(row, ...input, "   ⬝⬝⬝⬝⬝⬝⬝■  esc interrupt")).toBeNull();
  });
});
