import type { Sight } from "@rouse/contract";
import { expect, it } from "vitest";
import { chooseFamily } from "../choose-family.ts";
import { readStreamLine, startStream } from "./read-stream.ts";

const part = (type: string, more: object) => ({ type, sessionID: "ses_1", part: { messageID: "msg_1", ...more } });
const tool = (exit: number) =>
  part("tool_use", {
    tool: "bash",
    callID: `c${exit}`,
    state: { status: "completed", input: { command: "x" }, output: "out", metadata: { exit } },
  });

it("the stream of opencode tells its session, calls, words, tokens and the end of its turn", () => {
  let state = startStream();
  const lines = [
    part("step_start", {}),
    tool(0),
    tool(1),
    part("text", { text: "Done." }),
    part("step_finish", { reason: "stop", tokens: { input: 1200, output: 42 } }),
    { type: "error", error: { name: "APIError" } },
  ];
  const sights: Sight[] = lines.flatMap((line) => {
    const step = readStreamLine("opencode", state, JSON.stringify(line), { now: 0, utcOffset: 0 });
    state = step.state;
    return step.sights;
  });
  expect(sights.map(({ kind }) => kind)).toEqual([
    ...["session", "model-asked"],
    ...["tool-started", "tool-ended", "model-asked", "tool-started", "tool-ended", "model-asked"],
    ...["said", "tokens", "turn-ended", "turn-ended"],
  ]);
  expect(sights.filter(({ kind }) => kind === "tool-ended")).toMatchObject([{ failed: false }, { failed: true }]);
  expect(sights.at(-1)).toMatchObject({ outcome: "failure", reason: "APIError" });
});

it.each([
  [["opencode", "run", "--format", "json", "x"], true],
  [["opencode", "run", "x"], false],
  [["opencode"], false],
])("%j prints its stream: %s", (command, structured) => {
  expect(chooseFamily(command)).toEqual({ family: "opencode", structured });
});
