import { describe, expect, it } from "vitest";
import { type HeldGiven, type HeldStory, heldStory } from "../held-story.test-support.ts";

const restarts = ({ agent }: HeldStory) => agent.actions.filter(({ kind }) => kind === "restart-agent");
const told = ({ agent }: HeldStory, type: string) => agent.events.filter((event) => event.type === type);

const crashed = (given: HeldGiven = {}): HeldStory => {
  const held = heldStory(given);
  held.exits({ code: 1 });
  return held;
};

describe("a process that is gone", () => {
  it("is started again at once", () => {
    const held = crashed();
    expect(restarts(held)).toEqual([
      {
        kind: "restart-agent",
        key: "worker-1/1/restart/1",
        agentId: "worker-1",
        incarnation: 1,
        taskId: null,
        reason: "UNRESPONSIVE: process-exited, by-itself",
        attempt: 1,
      },
    ]);
    expect(told(held, "RESTART_ORDERED")).toMatchObject([{ payload: { because: "process-exited", attempt: 1 } }]);
    held.passes("3h");
    held.agent.monitorDoubts({});
    expect(restarts(held)).toHaveLength(1);
  });

  it("also when it had been UNRESPONSIVE before for another reason", () => {
    const held = heldStory({ preset: "fleet" });
    held.agent.beats();
    held.passes("1m");
    expect(held.agent.reason).toBe("missed-beats");
    held.exits({ signal: "SIGSEGV", cause: "killed" });
    expect(restarts(held)).toHaveLength(1);
  });

  it("and when nobody saw its end", () => {
    const held = heldStory();
    held.holderIsLost("gone");
    expect(restarts(held)).toHaveLength(1);
  });

  it("the next time no sooner than a minute later, three times in the hour, then never by itself", () => {
    const held = crashed();
    held.startsAgain();
    held.exits({ code: 1 });
    held.passes("59s");
    expect(restarts(held)).toHaveLength(1);
    held.passes("1s");
    expect(restarts(held)).toHaveLength(2);
    held.startsAgain();
    held.passes("2m");
    held.exits({ code: 1 });
    expect(restarts(held)).toHaveLength(3);
    held.startsAgain();
    held.passes("2m");
    held.exits({ code: 1 });
    held.agent.monitorDoubts({});
    held.passes("5h");
    held.agent.monitorDoubts({});
    expect(restarts(held)).toHaveLength(3);
    expect(told(held, "RESTARTS_EXHAUSTED")).toEqual([
      { type: "RESTARTS_EXHAUSTED", payload: { agentId: "worker-1", attempts: 3, windowSeconds: 3600 } },
    ]);
    expect(held.agent.record.alert).not.toBeNull();
  });

  it("restarts of more than an hour ago are not counted", () => {
    const held = crashed();
    for (let i = 0; i < 5; i++) {
      held.startsAgain();
      held.passes("31m");
      held.exits({ code: 1 });
    }
    expect(restarts(held)).toHaveLength(6);
    expect(told(held, "RESTARTS_EXHAUSTED")).toEqual([]);
    expect(held.agent.record.restarts.length).toBeLessThanOrEqual(3);
  });

  it.each<[string, HeldStory]>([
    ["that runs in a person's terminal", crashed({ hold: { foreground: true } })],
    ["in mode assist", crashed({ settings: { mode: "assist" } })],
    ["in mode observe", crashed({ settings: { mode: "observe" } })],
  ])("%s is not started again by us", (_, held) => {
    held.passes("1h");
    held.agent.monitorDoubts({});
    expect(held.agent.state).toBe("UNRESPONSIVE");
    expect(restarts(held)).toEqual([]);
  });

  it.each([
    ["with status 0", { code: 0 }],
    ["by a person", { code: 130, cause: "person" }],
    ["by our own stop", { signal: "SIGKILL", cause: "stopped" }],
  ] as const)("%s is not started again", (_, exit) => {
    const held = heldStory();
    held.exits(exit);
    held.agent.monitorDoubts({});
    expect(restarts(held)).toEqual([]);
  });

  it("during a freeze waits for the thaw, and is not forgotten", () => {
    const held = crashed({ doubt: { frozen: true } });
    held.passes("1h");
    expect(restarts(held)).toEqual([]);
    held.agent.monitorDoubts({ frozen: false });
    expect(restarts(held)).toHaveLength(1);
  });
});
