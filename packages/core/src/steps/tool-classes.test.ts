import { describe, expect, it } from "vitest";
import { classOfTool } from "./tool-classes.ts";

describe("what a tool does", () => {
  it("is known by its name, however it is written", () => {
    expect(classOfTool("Edit")).toBe("changes");
    expect(classOfTool("grep")).toBe("reads");
    expect(classOfTool("PageDownTool")).toBe("pages");
    expect(classOfTool("BashOutput")).toBe("polls");
    expect(classOfTool("TodoWrite")).toBe("bookkeeping");
  });

  it("is not known of a tool nobody told us of", () => {
    expect(classOfTool("Bash")).toBe("other");
    expect(classOfTool("")).toBe("other");
  });

  it("is what the user says, first of all", () => {
    expect(classOfTool("Edit", { Edit: "reads" })).toBe("reads");
    expect(classOfTool("deploy", { deploy: "changes" })).toBe("changes");
  });

  it("is not something every object happens to have", () => {
    for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty"])
      expect(classOfTool(name)).toBe("other");
  });
});
