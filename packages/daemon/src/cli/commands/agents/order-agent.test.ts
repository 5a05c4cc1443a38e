import type { OrderAnswer, SharedTurn } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { readSurroundings } from "../../surroundings.ts";
import { paintLine } from "../../text/styled-text.ts";
import { answerOf, tellAnswer } from "./order-agent.ts";

/** What is printed, and how the command ends. */
function told(answer: OrderAnswer) {
  let text = "";
  let code: number | null = null;
  const print = (lines: readonly Parameters<typeof paintLine>[0][]) => {
    text += lines.map((line) => paintLine(line, false)).join("\n");
  };
  tellAnswer({ ...readSurroundings(), print }, answer, {}, (given) => {
    code = given;
  });
  return { text, code };
}

const stopped = (sharedTurn?: SharedTurn): OrderAnswer =>
  answerOf("a", {
    ...{ kind: "stopped", forced: false, processes: 1, tier: "cgroup" },
    ...(sharedTurn === undefined ? {} : { sharedTurn }),
  });

describe("what is said of an agent that was ended", () => {
  it("nothing is left of it where all of it was found", () => {
    expect(told(stopped())).toEqual({ text: "a ended; nothing of it is left.", code: 0 });
  });

  it("nothing was found any more where a process could get out of sight, with how it could", () => {
    const ended = { kind: "stopped", forced: false, processes: 1 } as const;
    expect(told(answerOf("a", { ...ended, tier: "cgroup", mayHaveLeft: true })).text).toBe(
      "a ended; none of its processes was found any more (Rouse cannot find a process that moved itself to another control group).",
    );
    for (const tier of [{ tier: "marked" } as const, {}])
      expect(told(answerOf("a", { ...ended, ...tier })).text).toBe(
        "a ended; none of its processes was found any more (Rouse cannot find a process that hid on purpose).",
      );
  });

  it("what others use goes on, with its turn broken off or without one", () => {
    const interrupted = "a ended; its turn in Codex's shared server was interrupted.";
    expect(told(stopped("interrupted"))).toEqual({ text: interrupted, code: 0 });
    const none = "a ended; Codex's shared server goes on, without a turn of it.";
    expect(told(stopped("none"))).toEqual({ text: none, code: 0 });
  });

  it("its turn may go on there, which is not what was wanted", () => {
    const text = "a ended; a turn of it may go on in Codex's shared server.";
    expect(told(stopped("may-go-on"))).toEqual({ text, code: 1 });
  });
});
