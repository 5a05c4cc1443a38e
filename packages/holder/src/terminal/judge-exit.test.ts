import { describe, expect, it } from "vitest";
import type { Ended } from "./agent-process.ts";
import { endsPrograms, judgeExit, type Meddling } from "./tend-terminal.ts";

const causeOf = (ended: Partial<Ended>, meddling: Partial<Meddling> = {}) =>
  judgeExit(
    { code: null, signal: null, ...ended },
    { ordered: false, typedAt: null, hungUpAt: null, hangUpSent: false, terminated: false, ...meddling },
    100_000,
  ).cause;

describe("why an agent is over", () => {
  it("is its own doing when it simply ended, whatever the code", () => {
    expect(causeOf({ code: 0 })).toBe("by-itself");
    expect(causeOf({ code: 130 })).toBe("by-itself");
  });

  it("is ours when we were stopping it, however it ended", () => {
    expect(causeOf({ code: 0 }, { ordered: true })).toBe("stopped");
    expect(causeOf({ signal: "SIGKILL" }, { ordered: true, typedAt: 99_999 })).toBe("stopped");
  });

  it("is a person who pressed Ctrl-C a moment before it was interrupted", () => {
    for (const ended of [{ signal: "SIGINT" }, { signal: "SIGQUIT" }, { code: 130 }, { code: 131 }]) {
      expect(causeOf(ended, { typedAt: 96_000 })).toBe("person");
    }
    expect(causeOf({ signal: "SIGINT" }, { typedAt: 90_000 })).toBe("killed");
    expect(causeOf({ code: 1 }, { typedAt: 99_000 })).toBe("by-itself");
  });

  it("is a person who pressed Ctrl-C a moment before it ended as if nothing had happened", () => {
    expect(causeOf({ code: 0 }, { typedAt: 99_000 })).toBe("person");
    expect(causeOf({ code: 0 }, { typedAt: 90_000 })).toBe("by-itself");
  });

  it("is a person who closed its terminal, unless it went on regardless", () => {
    expect(causeOf({ signal: "SIGHUP" }, { hungUpAt: 1 })).toBe("person");
    expect(causeOf({ code: 4 }, { hungUpAt: 99_000 })).toBe("person");
    expect(causeOf({ code: 1 }, { hungUpAt: 80_000 })).toBe("person");
    expect(causeOf({ code: 0 }, { hungUpAt: 1 })).toBe("by-itself");
    expect(causeOf({ signal: "SIGHUP" })).toBe("killed");
  });

  it("is somebody's signal when its terminal was not closed, only said to be", () => {
    expect(causeOf({ signal: "SIGHUP" }, { hungUpAt: 1, hangUpSent: true })).toBe("killed");
    expect(causeOf({ code: 4 }, { hungUpAt: 99_000, hangUpSent: true })).toBe("killed");
    expect(causeOf({ code: 0 }, { hungUpAt: 1, hangUpSent: true })).toBe("by-itself");
  });

  it("is somebody's signal to rouse run, which no person types", () => {
    expect(causeOf({ signal: "SIGTERM" }, { terminated: true })).toBe("killed");
    expect(causeOf({ code: 143 }, { terminated: true })).toBe("killed");
    expect(causeOf({ code: 0 }, { terminated: true })).toBe("killed");
    expect(causeOf({ signal: "SIGKILL" }, { terminated: true, ordered: true })).toBe("stopped");
  });

  it("is somebody else's signal otherwise", () => {
    expect(causeOf({ signal: "SIGKILL" })).toBe("killed");
  });

  it("may be what was typed only if that ends programs", () => {
    expect(["\x03", "abc\x04", "\x1c"].map((typed) => endsPrograms(Buffer.from(typed)))).toEqual([true, true, true]);
    expect(endsPrograms(Buffer.from("abc\r"))).toBe(false);
  });
});
