import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";
import { story } from "../story.test-support.ts";

const silentWith = "rouse.fleet/1";
const ours = ["ALERT_RAISED", "INCIDENT_OPENED", "ESCALATION_TRIGGERED"];
const said = ({ events }: { readonly events: readonly { readonly type: string }[] }) =>
  events.map(({ type }) => type).filter((type) => ours.includes(type));

/** The agent beats, then falls silent together with many. */
function fallsSilentTogether() {
  const agent = story({ preset: "fleet" });
  agent.beats();
  agent.monitorDoubts({ silentWith });
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
    agent.monitorDoubts({ silentWith: null });
    agent.take({ kind: "wake" });
    expect(said(agent)).toEqual(ours);
  });

  it("is somebody's matter at once for whatever else is found of it", () => {
    const agent = story({ preset: "fleet" });
    agent.beats();
    agent.monitorDoubts({ silentWith });
    agent.beats({ healthMetrics: { consecutiveFailures: 9 } });
    agent.silentFor("1s");
    expect(said(agent)).toContain("ALERT_RAISED");
    expect(said(agent)).toContain("INCIDENT_OPENED");
  });

  it("is nobody's matter of its own for what is only worth a note", () => {
    const agent = story({ preset: "fleet" });
    agent.beats({ healthMetrics: { memory: 0.99 } });
    agent.monitorDoubts({ silentWith });
    agent.silentFor("1h");
    expect(agent.record.health.findings.map(({ kind }) => kind)).toEqual(["missed-beats", "memory-pressure"]);
    expect(said(agent)).toEqual([]);
  });
});

describe("a decision for all that fell silent together", () => {
  const decided = { kind: "decided-for-all", decision: "terminate_and_recover", actor: "ada" } as const;

  /** A held agent that has beaten, but not by a timer. */
  function silentHeld(given: Parameters<typeof heldStory>[0] = {}) {
    const held = heldStory({ preset: "fleet", obedient: true, taskId: "t", ...given });
    held.prints();
    held.agent.beats();
    held.processesAre("quiet");
    held.agent.monitorDoubts({ silentWith });
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
    heard.agent.monitorDoubts({ silentWith: null });
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
    const before = held.agent.record.ladder.incident;
    expect(before?.stage.kind).toBe("escalated");
    held.agent.take(decided);
    expect(held.agent.record.ladder.incident).toEqual(before);
  });

  it("waits for the thaw", () => {
    const held = silentHeld();
    held.agent.monitorDoubts({ frozen: true });
    held.agent.take(decided);
    held.passes("10s");
    expect(held.agent.told("TERMINATION_ORDERED")).toEqual([]);
  });
});

describe("a member of mass silence that was warned of before", () => {
  it("is nobody's matter of its own for that warning once its silence is an illness", () => {
    const agent = story({ preset: "fleet" });
    agent.beats({ healthMetrics: { errorRate: 0.26 } });
    agent.monitorDoubts({ silentWith });
    agent.silentFor("1h");
    expect(agent.record.health.findings.filter(({ level }) => level === "degraded")).not.toEqual([]);
    expect(agent.state).toBe("UNRESPONSIVE");
    expect(said(agent)).toEqual([]);
  });
});

describe("the end of an agent among others", () => {
  const diedWith = "rouse.fleet/2";
  const held = (given: Parameters<typeof heldStory>[0] = {}) => {
    const one = heldStory({ taskId: "t", ...given });
    one.prints();
    one.agent.monitorDoubts({ mayDieWithOthers: true });
    return one;
  };
  const alerts = ({ agent }: ReturnType<typeof held>) => agent.did("raise-alert");

  it("is told alone once nobody has ended with it for some seconds", () => {
    const one = held();
    one.exits({ code: 7 });
    one.passes("4s");
    expect(alerts(one)).toEqual([]);
    expect(one.agent.did("restart-agent")).toHaveLength(1);
    expect(one.agent.finding("process-exited")).toMatchObject({ level: "unresponsive", restrainedBy: "gathering" });
    one.passes("2s");
    expect(alerts(one)).toHaveLength(1);
    expect(one.agent.finding("process-exited")?.restrainedBy).toBeUndefined();
  });

  it("is told at once where there are no others", () => {
    const one = held();
    one.agent.monitorDoubts({ mayDieWithOthers: false });
    one.exits({ code: 7 });
    expect(alerts(one)).toHaveLength(1);
  });

  it("is told with the others, and it is started again like any other", () => {
    const one = held();
    one.exits({ code: 7 });
    one.agent.monitorDoubts({ diedWith });
    one.passes("30s");
    expect(alerts(one)).toEqual([]);
    expect(one.agent.did("restart-agent")).toHaveLength(1);
  });

  it("takes back what was told of it alone before others ended as well", () => {
    const one = held();
    one.exits({ code: 7 });
    one.passes("10s");
    one.agent.monitorDoubts({ diedWith });
    one.passes("10s");
    expect(alerts(one)).toHaveLength(1);
    expect(one.agent.did("resolve-alert")).toHaveLength(1);
  });

  it("is the same for one that runs once: one word to whoever started it, or none", () => {
    const once = { hold: { restart: { when: "no" } } } as const;
    const alone = held(once);
    alone.exits({ code: 7 });
    alone.passes("4s");
    expect(alerts(alone)).toEqual([]);
    alone.passes("2s");
    expect(alerts(alone)).toMatchObject([{ severity: "warning" }]);
    const together = held(once);
    together.exits({ code: 7 });
    together.agent.monitorDoubts({ diedWith });
    together.passes("10m");
    expect(alerts(together)).toEqual([]);
  });

  it("calls nobody before it is known to be one alone, also where Rouse may not start it again", () => {
    const mode = { settings: { mode: "assist" } } as const;
    const one = held(mode);
    one.exits({ code: 7 });
    one.passes("4s");
    expect(alerts(one)).toEqual([]);
    one.agent.monitorDoubts({ diedWith });
    one.passes("10m");
    expect(alerts(one)).toEqual([]);
    expect(one.agent.record.ladder.handedOver).toMatchObject({ because: "mode" });
    const alone = held(mode);
    alone.exits({ code: 7 });
    alone.passes("10s");
    expect(alerts(alone)).not.toEqual([]);
  });

  /** The restarts are used up. */
  function exhausted(diedWith: string | null) {
    const one = held({ obedient: true });
    one.agent.monitorDoubts({ diedWith });
    for (let death = 0; death < 4; death++) {
      one.exits({ code: 7 });
      one.passes("2m");
    }
    return one;
  }

  it("is asked about with the others when its restarts are used up", () => {
    const alone = exhausted(null);
    expect(alone.agent.told("ESCALATION_TRIGGERED")).toHaveLength(1);
    const together = exhausted(diedWith);
    expect(together.agent.told("RESTARTS_EXHAUSTED")).toHaveLength(1);
    expect(together.agent.told("ESCALATION_TRIGGERED")).toEqual([]);
    expect(alerts(together)).toEqual([]);
    expect(together.agent.record.ladder.handedOver).toMatchObject({ because: "restarts-exhausted" });
  });

  it("is undone by a decision for all, and stays when that is to hand over, or when a person ended it", () => {
    const one = exhausted(diedWith);
    const restarts = one.agent.did("restart-agent").length;
    one.agent.take({ kind: "decided-for-all", decision: "force_handoff", actor: "ada" });
    one.passes("10m");
    expect(one.agent.did("restart-agent")).toHaveLength(restarts);
    one.agent.take({ kind: "decided-for-all", decision: "terminate_and_recover", actor: "ada" });
    one.passes("10s");
    expect(one.agent.did("restart-agent")).toHaveLength(restarts + 1);
    expect(one.agent.record.ladder.handedOver).toBeNull();
    const ended = held();
    ended.exits({ code: null, signal: "SIGTERM", cause: "person" });
    ended.agent.monitorDoubts({ diedWith });
    ended.passes("10s");
    ended.agent.take({ kind: "decided-for-all", decision: "terminate_and_recover", actor: "ada" });
    ended.passes("10s");
    expect(ended.agent.did("restart-agent")).toEqual([]);
  });
});
