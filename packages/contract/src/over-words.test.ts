import { describe, expect, it } from "vitest";
import { exitWord, isGoodEnd, isUnhealthy, overWord } from "./over-words.ts";

describe("the word for an agent that is over", () => {
  it("says that it finished, how it exited, by what it was ended, or that it was terminated", () => {
    expect(overWord({ how: "finished", code: 0, signal: null })).toBe("FINISHED");
    expect(overWord({ how: "exited", code: 7, signal: null })).toBe("exited 7");
    expect(overWord({ how: "exited", code: null, signal: "SIGKILL" })).toBe("ended by SIGKILL");
    expect(overWord({ how: "terminated", code: null, signal: "SIGTERM" })).toBe("TERMINATED");
    expect(exitWord({ code: null, signal: null })).toBe("ended unseen");
  });

  it("is good news only of one that finished, or exited 0", () => {
    expect(isGoodEnd({ how: "finished", code: null, signal: null })).toBe(true);
    expect(isGoodEnd({ how: "exited", code: 0, signal: null })).toBe(true);
    expect(isGoodEnd({ how: "exited", code: null, signal: null })).toBe(false);
    expect(isGoodEnd({ how: "terminated", code: 0, signal: null })).toBe(false);
  });
});

it("an agent that ended ill is unhealthy for as long as a person is called for it", () => {
  const over = { how: "exited", code: 7, signal: null } as const;
  const ended = { state: "UNRESPONSIVE", over } as const;
  expect(isUnhealthy({ ...ended, over: null, handedOver: null })).toBe(true);
  expect(isUnhealthy({ ...ended, handedOver: null })).toBe(false);
  expect(isUnhealthy({ ...ended, handedOver: { because: "restarts-exhausted" } })).toBe(true);
  expect(isUnhealthy({ ...ended, handedOver: { because: "ended-by-person" } })).toBe(false);
});
