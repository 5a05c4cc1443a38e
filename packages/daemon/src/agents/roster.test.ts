import { newRecord } from "@rouse/core";
import { expect, it } from "vitest";
import { createRoster } from "./roster.ts";

it("nothing is due any more for an agent that was removed, though it still lies in the wheel", () => {
  const roster = createRoster();
  const birth = { agentId: "a", agentType: null, node: null, incarnation: 1, taskId: null, gapsSeen: 0 };
  const watched = roster.add(newRecord(birth, 5));
  expect(watched.wakeAt()).toBe(5);
  roster.remove(watched);
  expect(watched.wakeAt()).toBe(null);
  expect(roster.find("a")).toBeUndefined();
});
