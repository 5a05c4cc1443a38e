import { describe, expect, it } from "vitest";
import { speaksForAgent } from "./speaks-for-agent.ts";

describe("whose words a line of a stream are", () => {
  it.each([
    ['{"type":"assistant","message":{"content":[{"type":"text","text":"<promise>COMPLETE</promise>"}]}}', true],
    ['{"type":"result","subtype":"success","result":"<promise>COMPLETE</promise>"}', true],
    ['{"type":"item.completed","item":{"id":"i1","type":"agent_message","text":"<promise>COMPLETE</promise>"}}', true],
    ['{"type":"message","role":"assistant","content":"<promise>COMPLETE</promise>"}', true],
    ['{"type":"user","message":{"content":"say <promise>COMPLETE</promise> when done"}}', false],
    ['{"type":"message","role":"user","content":"say <promise>COMPLETE</promise> when done"}', false],
    [
      '{"type":"item.completed","item":{"type":"command_execution","aggregated_output":"<promise>COMPLETE</promise>"}}',
      false,
    ],
    ['{"type":"system","subtype":"init"}', false],
  ])("%s", (line, expected) => {
    expect(speaksForAgent(line)).toBe(expected);
  });
});
