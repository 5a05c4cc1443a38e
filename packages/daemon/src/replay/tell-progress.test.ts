import { describe, expect, it } from "vitest";
import { createProgressLine } from "./tell-progress.ts";

function progressOn(isTTY: boolean, totalBytes: number | null) {
  const written: string[] = [];
  let now = 0;
  const out = { isTTY, write: (text: unknown) => Boolean(written.push(String(text))) };
  const line = createProgressLine(out, totalBytes, () => now);
  return { line, written, pass: (ms: number) => (now += ms) };
}

describe("progress", () => {
  it("is one line that is written over now and then, and cleared at the end", () => {
    const { line, written, pass } = progressOn(true, 1000);
    line.tell({ bytes: 10, events: 1, runs: 1 });
    expect(written).toEqual([]);
    pass(250);
    line.tell({ bytes: 500, events: 1234, runs: 5 });
    line.tell({ bytes: 501, events: 1235, runs: 5 });
    line.clear();
    line.clear();
    expect(written).toEqual(["\r\u001b[Kreplaying: 50 %, 5 runs, 1,234 events", "\r\u001b[K"]);
  });

  it("names no share when nobody knows how much there is", () => {
    const { line, written, pass } = progressOn(true, null);
    pass(250);
    line.tell({ bytes: 500, events: 3, runs: 1 });
    expect(written).toEqual(["\r\u001b[Kreplaying: 1 runs, 3 events"]);
  });

  it("is not told to a file or a pipe", () => {
    const { line, written, pass } = progressOn(false, 1000);
    pass(1000);
    line.tell({ bytes: 500, events: 3, runs: 1 });
    line.clear();
    expect(written).toEqual([]);
  });
});
