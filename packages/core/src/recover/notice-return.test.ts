import { describe, expect, it } from "vitest";
import { story } from "../story.test-support.ts";

describe("an agent that was ill and is well again", () => {
  it("is a fact of its own, with what it had and for how long", () => {
    const agent = story();
    agent.beats({ healthMetrics: { consecutiveFailures: 4 } });
    agent.silentFor("5s");
    agent.beats({ healthMetrics: { consecutiveFailures: 0 } });
    expect(agent.events.at(-1)).toEqual({
      type: "AGENT_RECOVERED",
      payload: { agentId: "worker-1", from: "FAILING", illForSeconds: 5 },
    });
  });

  it("counts as back when only warnings are left", () => {
    const agent = story();
    agent.beats();
    agent.silentFor("17s");
    agent.beats({ status: "DEGRADED" });
    expect(agent.state).toBe("DEGRADED");
    expect(agent.eventTypes()).toContain("AGENT_RECOVERED");
  });

  it("is none when there were only warnings", () => {
    const agent = story();
    agent.beats();
    agent.silentFor("13s");
    agent.beats();
    expect(agent.past).toEqual(["12s DEGRADED", "13s HEALTHY"]);
    expect(agent.eventTypes()).not.toContain("AGENT_RECOVERED");
  });
});
