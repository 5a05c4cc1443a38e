import type { UserPattern } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { compilePatterns } from "./compile-patterns.ts";

async function compiled(patterns: UserPattern[], completionMarker = "") {
  const notes: string[] = [];
  const found = await compilePatterns({ patterns, completionMarker }, "codex", (note) => notes.push(note));
  return { found, notes };
}

describe("a user's patterns", () => {
  it("find their groups, are named after themselves, and are left out for other programs", async () => {
    const { found } = await compiled([
      { kind: "rate-limit", pattern: "wait (\\d+) ?(m)?" },
      { kind: "error", pattern: "boom", family: "aider" },
      { kind: "error", pattern: "bang", family: "codex", name: "a bang" },
    ]);
    expect(found.map(({ kind, name }) => [kind, name])).toEqual([
      ["rate-limit", "wait (\\d+) ?(m)?"],
      ["error", "a bang"],
    ]);
    expect(found[0]?.find("please wait 12")).toEqual(["wait 12", "12", undefined]);
    expect(found[0]?.find("go on")).toBeNull();
  });

  it("that do not compile are left out with a note, and the others stay", async () => {
    const { found, notes } = await compiled([
      { kind: "error", pattern: "(" },
      { kind: "error", pattern: "x" },
    ]);
    expect(found).toHaveLength(1);
    expect(notes).toEqual([expect.stringContaining('the pattern "(" is left out')]);
  });

  it("take linear time even when they are evil", async () => {
    const { found } = await compiled([{ kind: "error", pattern: "^(a+)+$" }]);
    expect(found[0]?.find(`${"a".repeat(5000)}!`)).toBeNull();
  });

  it("are joined by the text that says the work is done, taken literally", async () => {
    const { found } = await compiled([], "<done(*)>");
    expect(found[0]?.kind).toBe("completed");
    expect(found[0]?.find("<done(*)>")).not.toBeNull();
    for (const line of ["<done>", "so: <done(*)>", "`<done(*)>`", "<done(*)>.", "<done\u200b(*)>", "> <done(*)>"])
      expect(found[0]?.find(line), line).toBeNull();
  });
});
