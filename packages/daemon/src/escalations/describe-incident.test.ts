import { minutes } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { policySubject } from "../config/choose-policy.ts";
import { readConfig, requireConfig } from "../config/read-config.ts";
import { dawn, taskWorld } from "../tasks/task-world.test-support.ts";
import { describeEscalation } from "./describe-incident.ts";

const config = requireConfig(readConfig({}));

describe("an open question", () => {
  it("is to be acknowledged five minutes after it became SEV-1, not after it was asked", async () => {
    const world = await taskWorld();
    world.beats({ agentId: "a", status: "IDLE" });
    world.agents.take(world.mustWatch("a"), { kind: "escalation-ordered", actor: "ann" }, world.readClock());
    const acknowledgeBy = () => {
      const { record } = world.mustWatch("a");
      return describeEscalation(record, config.policyFor(policySubject(record)), (at) => dawn + at)?.acknowledgeBy;
    };
    expect(acknowledgeBy()).toBeNull();
    world.pass(minutes(0.2));
    await world.handsAnswer("escalate", { kind: "undelivered", problem: "connection refused" });
    expect(acknowledgeBy()).toBe("2026-02-05T09:05:12.000Z");
  });
});
