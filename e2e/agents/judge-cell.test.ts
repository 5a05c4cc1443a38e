import type { SavedEvent } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { cells, idOf } from "./cells.ts";
import { judgeCell, type Played } from "./judge-cell.ts";
import { stories } from "./stories.ts";

const event = (type: string, payload: object = {}): SavedEvent =>
  ({ id: 1, time: "2026-11-16T12:00:00.000Z", type, payload: { agentId: "agent", ...payload } }) as SavedEvent;

const played = (more: Partial<Played> = {}): Played => ({
  cell: { program: "claude", mode: "spawn", scenario: "normal", eyes: ["hooks"] },
  story: stories.normal,
  told: { said: "FINISHED", seconds: 1 },
  eyes: ["hooks", "screen"],
  events: [],
  ...more,
});

describe("a cell", () => {
  it("holds when Rouse said it, by an eye it was to be seen by, and left the agent alone", () => {
    expect(judgeCell(played())).toEqual({ kind: "holds" });
  });

  it("fails when it was seen by another eye", () => {
    expect(judgeCell(played({ eyes: ["screen"] }))).toEqual({
      kind: "fails",
      because: "seen by screen, not by hooks",
    });
  });

  it.each(["NUDGE_SENT", "RESTART_ORDERED", "TERMINATION_ORDERED"])("fails when somebody healthy got %s", (type) => {
    expect(judgeCell(played({ events: [event(type)] }))).toMatchObject({ kind: "fails" });
  });

  it("fails when somebody healthy was called ill", () => {
    const changed = event("HEALTH_STATE_CHANGED", { to: "STUCK", reason: "no-output" });
    expect(judgeCell(played({ events: [changed] }))).toMatchObject({
      because: "called STUCK (no-output), and it was well",
    });
  });

  it("may be told to be gone when it is", () => {
    const gone = event("HEALTH_STATE_CHANGED", { to: "UNRESPONSIVE", reason: "process-exited" });
    expect(judgeCell(played({ events: [gone] }))).toEqual({ kind: "holds" });
  });

  it("lets a loop be called stuck and nudged, never stopped", () => {
    const nudged = [event("HEALTH_STATE_CHANGED", { to: "STUCK", reason: "identical-step" }), event("NUDGE_SENT")];
    expect(judgeCell(played({ story: stories.loop, events: nudged }))).toEqual({ kind: "holds" });
    const stopped = [...nudged, event("TERMINATION_ORDERED")];
    expect(judgeCell(played({ story: stories.loop, events: stopped }))).toMatchObject({ kind: "fails" });
  });

  it("that cannot be known excuses silence, and no harm", () => {
    const cell = { ...played().cell, cannot: "nobody can look" };
    const told = new Error("waited in vain");
    expect(judgeCell(played({ cell, told }))).toEqual({ kind: "cannot-be-known", because: "nobody can look" });
    expect(judgeCell(played({ cell, told, events: [event("NUDGE_SENT")] }))).toMatchObject({ kind: "fails" });
    expect(judgeCell(played({ told }))).toMatchObject({ kind: "fails", because: "waited in vain" });
  });

  it("has an id of its own", () => {
    const ids = cells.map(idOf);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
