import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { policyFrom, type StepEvent, settingsOf } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { replayRun } from "../replay/replay-run.ts";
import { readSteps } from "./hear-steps.ts";

const traces = join(import.meta.dirname, "../../../../../shared/traces");
const there = existsSync(traces);
if (!there) process.stderr.write(`${traces} IS NOT THERE: real runs are not replayed without their texts.\n`);

describe("steps that an agent tells", () => {
  it("are taken one by one: a broken one is named with what is wrong, the others count", () => {
    const { events, rejected } = readSteps(
      [
        { kind: "tool_call", tool: "shell", args: "ls" },
        null,
        { kind: "tool_calls" },
        { kind: "message", role: 7, tokens: -1 },
        { kind: "tool_result", tool: "shell", text: "a" },
      ],
      false,
    );
    expect(events.map(({ kind }) => kind)).toEqual(["tool_call", "tool_result"]);
    expect(rejected.map(({ index }) => index)).toEqual([1, 2, 3]);
    expect(rejected[1]?.problem).toMatch(/^kind: /);
    expect(rejected[2]?.problem).toMatch(/role: .*; tokens: /);
  });

  it("that hold nonsense are answered in words any terminal can show", () => {
    const { rejected } = readSteps(
      [{ kind: "message", "\u001b[2J": 1, id: `\u001b]0;x\u0007${"y".repeat(500)}` }],
      false,
    );
    expect(rejected[0]?.problem).toMatch(/^[\x20-\x7e]{1,300}$/);
  });

  it("leave no text behind unless text is to be kept", () => {
    const sent = [{ kind: "tool_result", tool: "shell", text: "the password is swordfish", secret: "swordfish" }];
    expect(JSON.stringify(readSteps(sent, false))).not.toContain("swordfish");
    expect(readSteps(sent, true).events[0]?.text).toBe("the password is swordfish");
  });

  it.skipIf(!there)(
    "without their texts lead to the same verdict at the same event, in every real run",
    () => {
      const policy = policyFrom("default", settingsOf("default"));
      const runs = realRuns();
      expect(runs.size).toBeGreaterThan(900);
      for (const [trace, events] of runs) {
        const digested = readSteps(events, false).events.map((event, i) => ({ ...event, at: events[i]?.at }));
        const [with_, without] = [events, digested].map((told) => replayRun({ trace, events: told }, policy));
        expect(without, trace).toEqual(with_);
      }
    },
    120_000,
  );
});

function realRuns(): Map<string, StepEvent[]> {
  const runs = new Map<string, StepEvent[]>();
  for (const file of readdirSync(traces).filter((name) => name.endsWith(".jsonl") && name !== "labels.jsonl")) {
    for (const line of readFileSync(join(traces, file), "utf8").split("\n").filter(Boolean)) {
      const event = JSON.parse(line) as StepEvent & { trace: string };
      const run = runs.get(event.trace) ?? [];
      runs.set(event.trace, run);
      run.push(event);
    }
  }
  return runs;
}
