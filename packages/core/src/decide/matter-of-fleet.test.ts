import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";
import { story } from "../story.test-support.ts";

const partOf = "rouse.fleet/1";
const ours = ["ALERT_RAISED", "INCIDENT_OPENED", "ESCALATION_TRIGGERED"];
const said = ({ events }: { readonly events: readonly { readonly type: string }[] }) =>
  events.map(({ type }) => type).filter((type) => ours.includes(type));

/** It beats, and then falls silent together with many. */
function fallsSilentTogether() {
  const agent = story({ preset: "fleet" });
  agent.beats();
  agent.monitorDoubts({ partOf });
  agent.silentFor("1h");
  return agent;
}

describe("an agent whose silence is part of an incident of the fleet", () => {
  it("is UNRESPONSIVE, and nobody is called or asked for it alone", () => {
    const agent = fallsSilentTogether();
    expect(agent.state).toBe("UNRESPONSIVE");
    expect(said(agent)).toEqual([]);
  });

  it("is somebody's matter like any other when it is part of it no more and silent still", () => {
    const agent = fallsSilentTogether();
    agent.monitorDoubts({ partOf: null });
    agent.take({ kind: "wake" });
    expect(said(agent)).toEqual(ours);
  });

  it("is somebody's matter at once for whatever else is found of it", () => {
    const agent = story({ preset: "fleet" });
    agent.beats();
    agent.monitorDoubts({ partOf });
    agent.beats({ healthMetrics: { consecutiveFailures: 9 } });
    agent.silentFor("1s");
    expect(said(agent)).toContain("ALERT_RAISED");
    expect(said(agent)).toContain("INCIDENT_OPENED");
  });

  it("is nobody's matter of its own for what is only worth a note", () => {
    const agent = story({ preset: "fleet" });
    agent.beats({ healthMetrics: { memory: 0.99 } });
    agent.monitorDoubts({ partOf });
    agent.silentFor("1h");
    expect(agent.record.findings.map(({ kind }) => kind)).toEqual(["missed-beats", "memory-pressure"]);
    expect(said(agent)).toEqual([]);
  });
});

describe("a decision for all that fell silent together", () => {
  const decided = { kind: "decided-for-all", decision: "terminate_and_recover", actor: "ada" } as const;

  /** A held agent that has beaten, without a timer that it would be held to. */
  function silentHeld(given: Parameters<typeof heldStory>[0] = {}) {
    const held = heldStory({ preset: "fleet", obedient: true, taskId: "t", ...given });
    held.prints();
    held.agent.beats();
    held.processesAre("quiet");
    held.agent.monitorDoubts({ partOf });
    held.passes("5m");
    return held;
  }

  it("stops and brings back those that Rouse holds, in the name of who decided", () => {
    const held = silentHeld();
    expect(said(held.agent)).toEqual([]);
    held.agent.take(decided);
    held.passes("10s");
    expect(held.agent.told("TERMINATION_ORDERED")).toMatchObject([{ actor: "ada", because: "decided" }]);
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.passes("10s");
    expect(held.agent.did("restart-agent")).toHaveLength(1);
  });

  it("hands over what one of them works on: it is told, stopped, and stays down", () => {
    const held = silentHeld();
    held.agent.take({ ...decided, decision: "force_handoff" });
    held.passes("10s");
    expect(held.agent.told("TERMINATION_ORDERED")).toMatchObject([{ actor: "ada" }]);
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.passes("10m");
    expect(held.agent.did("restart-agent")).toEqual([]);
  });

  it("harms nobody who was heard meanwhile, has ended, or is not held, and nobody is asked about them", () => {
    const heard = silentHeld();
    heard.agent.beats();
    heard.agent.monitorDoubts({ partOf: null });
    const ended = silentHeld();
    ended.exits({ code: 0 });
    const free = fallsSilentTogether();
    for (const agent of [heard.agent, ended.agent, free]) {
      agent.take(decided);
      agent.silentFor("1s");
      expect(said(agent)).toEqual([]);
      expect(agent.actions.filter(({ kind }) => kind === "save-work" || kind === "stop-agent")).toEqual([]);
    }
  });

  it("leaves alone whom somebody was asked about for another reason", () => {
    const held = silentHeld();
    held.agent.take({ kind: "escalation-ordered", actor: "bob" });
    const before = held.agent.record.incident;
    expect(before?.stage.kind).toBe("escalated");
    held.agent.take(decided);
    expect(held.agent.record.incident).toEqual(before);
  });

  it("waits for the thaw", () => {
    const held = silentHeld();
    held.agent.monitorDoubts({ frozen: true });
    held.agent.take(decided);
    held.passes("10s");
    expect(held.agent.told("TERMINATION_ORDERED")).toEqual([]);
  });
});
