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

  it("is found without a closer look at names that are too long", () => {
    const long = Array.from({ length: 20 }, (_, i) => "m".repeat(1_000_000 + i));
    expect(nearestName("mode", [...long, "mdoe"])).toBe("mdoe");
  });
});
