import { describe, expect, it } from "vitest";
import { blankOwnWords } from "./place-to-type.ts";

const said = "The last 5 calls were identical and failed with the same error. Report what blocks you.";

describe("rows that show what we typed ourselves", () => {
  it("are blanked: at the prompt, repeated, and broken by a narrow screen", () => {
    expect(blankOwnWords([`❯ ${said}`, "● I will."], said)).toEqual(["", "● I will."]);
    expect(blankOwnWords([`ask> ${said}`], said)).toEqual([""]);
    const narrow = [
      "│ > The last 5 calls were identical │",
      "│ and failed with the same error.   │",
      "│ Report what blocks    │",
      "│ you. │",
    ];
    expect(blankOwnWords(narrow, said)).toEqual(["", "", "", ""]);
    expect(blankOwnWords(["❯ go on"], "go on")).toEqual([""]);
  });

  it("are those only: the agent's own words stay, though some are the same", () => {
    const own = ["● Reading src/a.ts", "you.", "error", "", "The last test failed."];
    expect(blankOwnWords(own, said)).toEqual(own);
    expect(blankOwnWords(own, "")).toEqual(own);
  });
});
