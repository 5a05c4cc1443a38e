import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cut, digestOf, maskDetails, maskVolatile } from "./mask-text.ts";

/** Halves of characters included: a terminal may hand over anything. */
const anyText = (maxLength: number) => fc.uint16Array({ maxLength }).map((units) => String.fromCharCode(...units));
const masksAlike = (...lines: string[]) => expect(new Set(lines.map(maskVolatile)).size, lines.join("\n")).toBe(1);
const masksApart = (...lines: string[]) =>
  expect(new Set(lines.map(maskVolatile)).size, lines.join("\n")).toBe(lines.length);

describe("what changes although nothing happens", () => {
  it("is a spinner, whatever it is drawn with", () => {
    masksAlike("⠋ Installing packages", "⠙ Installing packages", "⣷ Installing packages");
    masksAlike("✻ Compacting conversation", "✽ Compacting conversation", "· Compacting conversation");
    masksAlike("◐ building", "◓ building", "◑ building", "◒ building");
    masksAlike("| building", "/ building", "- building", "\\ building");
    expect(maskVolatile("⠹")).toBe("");
    expect(maskVolatile("|")).toBe("");
  });

  it("is the one word a program shows while it thinks", () => {
    masksAlike("✻ Pondering… (3s · esc to interrupt)", "✽ Herding… (12s · ↑ 1.2k tokens · esc to interrupt)");
    masksApart("✻ Refactoring the parser…", "✻ Writing the tests…");
  });

  it("is a clock, a date and a timer", () => {
    masksAlike("[12:30:01] waiting", "[12:30:02] waiting", "[1:05 pm] waiting");
    masksAlike("2026-10-21T07:28:00.123Z waiting", "2026-10-22 07:28:01 waiting");
    masksAlike("Wed, 21 Oct 2026 07:28:00 waiting", "Thu, Oct 22 2026 08:00:00 waiting", "10/21/2026 waiting");
    masksAlike("Running (3.2s)", "Running (12s)", "Running (1m 52s)", "Running (1m52s)", "Running (00:12:33)");
    masksAlike("elapsed 900 ms", "elapsed 3 minutes", "elapsed 2h 5m");
  });

  it("is a counter of tokens and the key to interrupt", () => {
    masksAlike("Working (↑ 1.2k tokens)", "Working (↓ 12,345 tokens)", "Working (3 credits used)");
    masksAlike("• Working (5s • esc to interrupt)", "• Working (1m 05s • esc to interrupt)");
    masksAlike("Thinking (esc to cancel, 12s)", "Thinking (esc to cancel, 13s)");
  });

  it("is a cursor that blinks", () => {
    masksAlike("name: █", "name: ▌", "name:");
    masksApart("███░░░", "████░░");
  });

  it("is not a count of work", () => {
    masksApart("file 123 of 5000", "file 124 of 5000");
    masksApart("45%", "46%");
    masksApart("12 passed", "13 passed");
    masksApart("src/a.ts:12:34", "src/a.ts:12:35");
    masksApart("version 1.2.3", "version 1.2.4");
  });
});

describe("the class of an error", () => {
  it("is the same for another file, line, number, address and text", () => {
    const alike = (a: string, b: string) => expect(maskDetails(a)).toBe(maskDetails(b));
    alike("Error: ENOENT: no such file, open '/tmp/a b.txt'", "Error: ENOENT: no such file, open '/var/x.txt'");
    alike(
      "src/a.ts(12,5): error TS2304: Cannot find name 'x'.",
      "lib/b/c.ts(1,15): error TS2304: Cannot find name 'yy'.",
    );
    alike("TypeError at 0x7ffe12 in job 3f2a9c1d", "TypeError at 0xdead in job 99aa01bc");
    alike(
      "Error: request 123e4567-e89b-12d3-a456-426614174000 to https://a.b/c?d failed",
      "Error: request 00000000-e89b-12d3-a456-426614174999 to http://localhost:80 failed",
    );
    alike("fatal: mail to bob@example.com failed at C:\\temp\\x", "fatal: mail to al.ice@x.org failed at D:\\y");
    alike("Error: connect ECONNREFUSED 127.0.0.1:5432", "Error: connect ECONNREFUSED 10.0.0.17:6543");
    alike("[12:30:01] Error: it took 3s", "[12:31:02] Error: it took 12s");
  });

  it("differs when the words do", () => {
    expect(maskDetails("Error: cannot read")).not.toBe(maskDetails("Error: cannot write"));
  });

  it("carries no secret, no control character and no more than 200 characters", () => {
    expect(maskDetails("Error: Incorrect API key: sk-ant-REDACTED-XyzAbcDef")).not.toContain("XyzAbcDef");
    expect(maskDetails("Error: bad token=hunter2 given")).toBe("Error: bad token=<secret> given");
    expect(maskDetails("Error:\u001b[31m red \u202e text\u0007")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(maskDetails(`Error: ${"word ".repeat(100)}`).length).toBeLessThanOrEqual(200);
  });
});

describe("masking", () => {
  it("comes back from any text, and always with the same", () => {
    fc.assert(
      fc.property(anyText(3000), (text) => {
        expect(maskVolatile(text).length).toBeLessThanOrEqual(2000);
        expect(maskDetails(text).length).toBeLessThanOrEqual(200);
        expect(maskDetails(text)).not.toMatch(/\p{Cs}/u);
        expect(maskDetails(text)).toBe(maskDetails(text));
      }),
    );
  });

  it("comes back from lines made to keep it busy", () => {
    for (const unit of [
      "a",
      "1",
      "1.",
      "1:",
      " ",
      "-",
      "a/",
      "'",
      '"',
      "a@",
      "a-",
      "0x",
      "f1",
      "⠋ ",
      "(",
      "( ·",
      "http:",
      "token:",
      "\\",
    ]) {
      const evil = unit.repeat(100_000 / unit.length);
      expect(maskVolatile(`${evil}!`).length).toBeLessThanOrEqual(2000);
      expect(maskDetails(`${evil}!`).length).toBeLessThanOrEqual(200);
    }
  });

  it("looks at no more than the first 2000 characters", () => {
    expect(maskVolatile(`${"x".repeat(1999)}yz`)).toBe(maskVolatile(`${"x".repeat(1999)}ya`));
  });

  it("cuts between characters", () => {
    expect(cut("ab😀", 3)).toBe("ab");
    expect(cut("ab😀", 4)).toBe("ab😀");
  });
});

describe("a digest", () => {
  it("is sixteen hex digits, the same for the same text", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(digestOf(text)).toMatch(/^[0-9a-f]{16}$/);
        expect(digestOf(text)).toBe(digestOf(`${text}`));
      }),
    );
  });

  it("tells a hundred thousand similar lines apart", () => {
    const digests = new Set(Array.from({ length: 100_000 }, (_, n) => digestOf(`file ${n} of 100000`)));
    expect(digests.size).toBe(100_000);
    expect(new Set(["", " ", "a", "b", "ab", "ba", "aab", "aba"].map(digestOf)).size).toBe(8);
  });
});
