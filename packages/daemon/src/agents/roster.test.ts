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

it("a life that is over has no say once a later one is known, and one that nobody has heard of yet does", () => {
  const roster = createRoster();
  const birth = { agentId: "a", agentType: null, node: null, incarnation: 2, taskId: null, gapsSeen: 0 };
  roster.add(newRecord(birth, 5));
  expect(() => roster.refuseFormerLife("a", 1)).toThrow("incarnation 1 of a is over; the current one is 2");
  for (const life of [2, 3, null]) expect(() => roster.refuseFormerLife("a", life)).not.toThrow();
  expect(() => roster.refuseFormerLife("unknown", 1)).not.toThrow();
});
