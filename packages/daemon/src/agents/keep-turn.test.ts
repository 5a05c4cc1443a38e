import { hours, minutes, seconds } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type TaskWorld, taskWorld } from "../tasks/task-world.test-support.ts";

/** The next monitor on the same disk, which knows only of its own absence. */
async function nextAfter(before: TaskWorld, away: number): Promise<TaskWorld> {
  await before.saved();
  await before.store.close();
  const diedAt = before.readClock().now;
  const world = await taskWorld({ disk: before.disk, at: diedAt + away });
  world.doubt.openGap("restart", diedAt, diedAt + away);
  world.agents.wakeAll(world.readClock());
  world.commits.schedule();
  return world;
}

describe("a deadline that was put off because Rouse was away", () => {
  it("is still put off when Rouse is away again", async () => {
    const first = await taskWorld();
    first.beats({ agentId: "a", sequenceNumber: 1 });
    first.pass(minutes(20));
    const untilOf = (world: TaskWorld) => {
      const stage = world.mustWatch("a").record.ladder.incident?.stage;
      return stage?.kind === "escalated" ? stage.escalation.until : null;
    };
    const until = untilOf(first) ?? 0;
    expect(until).toBeGreaterThan(minutes(20));
    const second = await nextAfter(first, hours(10));
    second.pass(seconds(5));
    expect(untilOf(second)).toBe(until + hours(10));
    const third = await nextAfter(second, seconds(2));
    third.pass(seconds(5));
    expect(untilOf(third)).toBe(until + hours(10) + seconds(2));
    expect(third.eventTypes()).not.toContain("ESCALATION_UNANSWERED");
  });
});
