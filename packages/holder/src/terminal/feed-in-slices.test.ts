import { describe, expect, it } from "vitest";
import { createSlices } from "./draw-in-time.ts";

const skip = Buffer.alloc(0);

describe("an agent that writes more than can be drawn", () => {
  it("is drawn up to a limit, then from a line start near the end", () => {
    const drawn: Buffer[] = [];
    const slices = createSlices(
      (bytes) => drawn.push(bytes),
      () => drawn.push(skip),
    );
    const line = Buffer.from(`${"x".repeat(1022)}\r\n`);
    for (let count = 0; count < 10_000; count++) slices.feed(line);
    slices.feed(Buffer.from("the end"));
    expect(Buffer.concat(drawn).length).toBeLessThanOrEqual(256 * 1024);
    const before = drawn.length;
    slices.next();
    const [skipped, rest] = drawn.slice(before);
    expect(skipped).toBe(skip);
    expect(rest?.length).toBeLessThanOrEqual(130 * 1024);
    expect(rest?.toString().startsWith("xxx")).toBe(true);
    expect(rest?.toString().endsWith("\r\nthe end")).toBe(true);
  });

  it("is drawn whole when it stays below the limit", () => {
    const drawn: Buffer[] = [];
    const slices = createSlices(
      (bytes) => drawn.push(bytes),
      () => drawn.push(skip),
    );
    for (let slice = 0; slice < 5; slice++) {
      for (let count = 0; count < 4; count++) slices.feed(Buffer.alloc(90_000, "x"));
      slices.next();
    }
    expect(Buffer.concat(drawn).length).toBe(5 * 4 * 90_000);
  });

  it("is drawn to the end also when it hardly ever ends a line", () => {
    const drawn: Buffer[] = [];
    const slices = createSlices(
      (bytes) => drawn.push(bytes),
      () => drawn.push(skip),
    );
    for (let count = 0; count < 1000; count++) slices.feed(Buffer.alloc(4096, "x"));
    slices.feed(Buffer.from("\x1b[2Jthe last screen\r\n"));
    slices.next();
    expect(drawn.at(-1)?.toString().endsWith("xx\x1b[2Jthe last screen\r\n")).toBe(true);
  });
});
