import { policyFrom, type StepEvent, settingsOf } from "@rouse/contract";
import { type AgentRecord, newRecord, noDoubt, supervise } from "@rouse/core";
import { describe, expect, it } from "vitest";
import { describeSteps } from "./describe-steps.ts";

const policy = policyFrom("default", settingsOf("default"));

function tell(events: readonly StepEvent[]): AgentRecord {
  const born = newRecord({ agentId: "a", agentType: null, node: null, incarnation: 1, taskId: null, gapsSeen: 0 }, 0);
  return events.reduce(
    (record, event, i) =>
      supervise(record, { kind: "stepped", events: [event] }, { now: i * 1000, policy, doubt: noDoubt }).record,
    born,
  );
}

const step = (tool: string, args: string, result: string, resultClass = result): StepEvent[] => [
  { kind: "tool_call", tool, args_digest: args },
  { kind: "tool_result", tool, text_digest: result, text_class: resultClass, failed: false },
];

describe("the last steps of an agent", () => {
  it("have a letter for each distinct call and result, a tilde for what differs in particulars, and marks on the evidence", () => {
    const same = [1, 2, 3, 4].flatMap((i) => step("Bash", "test", `took ${i} s`, "took # s"));
    const report = describeSteps(
      tell([...step("Read", "a", "x"), ...same, ...step("Bash", "test", "took 1 s", "took # s")]),
    );
    expect(report.map(({ event, tool, args, result, evidence }) => [event, tool, args, result, evidence])).toEqual([
      [1, "Read", "A", "A", false],
      [3, "Bash", "B", "B", true],
      [5, "Bash", "B", "B~", true],
      [7, "Bash", "B", "B~", true],
      [9, "Bash", "B", "B~", true],
      [11, "Bash", "B", "B", true],
    ]);
  });

  it("show replies without a call among them, and unknown as unknown", () => {
    const report = describeSteps(
      tell([
        { kind: "tool_result", tool: "T" },
        { kind: "message", role: "agent", text_digest: "w", text_class: "w" },
      ]),
    );
    expect(report).toEqual([
      { event: 0, tool: "T", args: null, result: null, failed: null, evidence: false },
      { event: 1, tool: null, args: null, result: "A", failed: null, evidence: false },
    ]);
  });

  it("are at most twelve, and none of an agent that tells none", () => {
    const many = Array.from({ length: 40 }, (_, i) => step("Read", `${i}`, `${i}`)).flat();
    expect(describeSteps(tell(many))).toHaveLength(12);
    expect(describeSteps(tell([]))).toEqual([]);
  });
});
