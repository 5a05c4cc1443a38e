import { describe, expect, it } from "vitest";
import { editDistance, nearestName } from "./nearest-name.ts";

describe("the nearest name", () => {
  it("is the one with the fewest letters to change", () => {
    expect(editDistance("kitten", "sitting")).toBe(3);
    expect(editDistance("", "abc")).toBe(3);
    expect(nearestName("interval_secs", ["idle_interval_seconds", "interval_seconds"])).toBe("interval_seconds");
    expect(nearestName("Mode", ["enabled", "mode"])).toBe("mode");
  });

  it("may be the same word with its unit", () => {
    expect(nearestName("timeout", ["interval_seconds", "timeout_seconds"])).toBe("timeout_seconds");
  });

  it("is nothing when all are far", () => {
    expect(nearestName("colour", ["enabled", "mode"])).toBeUndefined();
    expect(nearestName("x", ["on", "off"])).toBeUndefined();
  });

  it("is found quickly however long the word is", () => {
    expect(nearestName("m".repeat(1_000_000), ["mode"])).toBeUndefined();
  });

  it("is looked for among as many names as take some milliseconds, and not among all that agents make up", () => {
    const made = (length: number) => Array.from({ length }, (_, i) => `worker-${i}`);
    expect(nearestName("builder-7", [...made(2000), "builder-70"])).toBe("builder-70");
    const wanted = `${"w".repeat(99)}1`;
    const alike = Array.from({ length: 20_000 }, (_, i) => `${i}`.padEnd(100, "x"));
    expect(nearestName(wanted, [...alike, `${"w".repeat(99)}2`])).toBeUndefined();
  });

  it("is found without a closer look at names that are too long", () => {
    const long = Array.from({ length: 20 }, (_, i) => "m".repeat(1_000_000 + i));
    expect(nearestName("mode", [...long, "mdoe"])).toBe("mdoe");
  });
});
