import { expect, it } from "vitest";
import { wordBeginning } from "./describe-event.ts";

const lost = { checkpoints: 0, steps: null, flaws: [], startsOver: true };

it("a life that goes on with its conversation is not said to go on from the start", () => {
  expect(wordBeginning({ ...lost, conversation: "kept" }, null)).toBe("with its conversation");
  expect(wordBeginning({ ...lost, conversation: "kept" }, "after step 4")).toBe("after step 4, with its conversation");
  expect(wordBeginning({ ...lost, conversation: "lost" }, null)).toBe("from the start, without its conversation");
  expect(wordBeginning(lost, null)).toBe("from the start");
});
