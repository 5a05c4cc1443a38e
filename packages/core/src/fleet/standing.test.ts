import { policyFrom, settingsOf } from "@rouse/contract";
import { expect, it } from "vitest";
import { noBeats } from "../facts.ts";
import { type AgentRecord, newRecord } from "../record.ts";
import { describeStanding } from "./standing.ts";

const policy = policyFrom("fleet", settingsOf("fleet"));
const birth = { agentId: "a", agentType: null, node: null, incarnation: 1, taskId: null, gapsSeen: 0 };
const born = newRecord(birth, 0);
const beating: AgentRecord = { ...born, life: { ...born.life, heard: true }, beats: { ...noBeats, accepted: 3 } };
const exit = { code: 7, signal: null, cause: "exited", at: 5 };

it("one that beats is a member of the fleet, held or not, and none once its process is over", () => {
  const held = (exit: unknown): AgentRecord => ({
    ...beating,
    seen: { ...beating.seen, terminal: { exit } as unknown as AgentRecord["seen"]["terminal"] },
  });
  expect(describeStanding(beating, policy).watched).toBe(true);
  expect(describeStanding(held(null), policy).watched).toBe(true);
  expect(describeStanding(held(exit), policy).watched).toBe(false);
});
