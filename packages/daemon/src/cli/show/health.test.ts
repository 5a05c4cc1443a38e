import { expect, it } from "vitest";
import { describeEyes } from "./health.ts";

it("a person is told by which eyes an agent is seen, and why not by the others", () => {
  expect(
    describeEyes([
      { eye: "stream", sees: false, because: "not asked for" },
      { eye: "hooks", sees: true, because: null },
      { eye: "session-file", sees: true, because: null },
      { eye: "screen", sees: false, because: null },
    ]),
  ).toBe("hooks, session file; not by: stream (not asked for), screen (unknown)");
  expect(describeEyes([{ eye: "screen", sees: true, because: null }])).toBe("screen");
  expect(describeEyes([{ eye: "hooks", sees: false, because: "none heard yet" }])).toBe(
    "nothing; not by: hooks (none heard yet)",
  );
});
