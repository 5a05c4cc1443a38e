import { describe, expect, it } from "vitest";
import { eventTypes, SavedEvent } from "./event.ts";

describe("a saved event", () => {
  it("has a number, a time and the payload of its type", () => {
    const event = {
      id: 7,
      time: "2026-02-05T12:00:00.000Z",
      type: "HEARTBEAT_MISSED",
      payload: { agentId: "a", missed: 2, silentSeconds: 12 },
    };
    expect(SavedEvent.parse(event)).toEqual(event);
    expect(SavedEvent.safeParse({ ...event, payload: {} }).success).toBe(false);
    expect(SavedEvent.safeParse({ ...event, type: "SOMETHING_ELSE" }).success).toBe(false);
  });

  it("is named in the past tense or as a state, in capitals, once", () => {
    expect(new Set(eventTypes).size).toBe(eventTypes.length);
    for (const type of eventTypes) expect(type).toMatch(/^[A-Z]+(?:_[A-Z]+)+$/);
  });
});
