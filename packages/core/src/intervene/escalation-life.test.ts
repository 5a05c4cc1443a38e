import { describe, expect, it } from "vitest";
import { goesQuiet, isAsked } from "../ladder-story.test-support.ts";
import { type Story, story } from "../story.test-support.ts";

const first = "worker-1.1";
const undelivered = { kind: "undelivered", problem: "connection refused" } as const;

describe("a question to the orchestrator", () => {
  it("is an action with a key, a time to answer, and an event that says why", () => {
    const { agent } = isAsked();
    expect(agent.did("escalate")).toEqual([
      {
        kind: "escalate",
        key: "worker-1.1/asked",
        agentId: "worker-1",
        escalation: first,
        until: agent.now + 900_000,
      },
    ]);
    expect(agent.told("ESCALATION_TRIGGERED")).toEqual([
      {
        agentId: "worker-1",
        escalation: first,
        incident: "worker-1/1",
        reason: "no-way-to-nudge",
        severity: "SEV-3",
        answerWithinSeconds: 900,
      },
    ]);
  });

  it("that nobody answers in time is withdrawn, and the ladder goes on at that very second", () => {
    const { agent, passes } = isAsked();
    passes("15m");
    expect(agent.when("ESCALATION_UNANSWERED", "TERMINATION_ORDERED")).toEqual([
      "1800s ESCALATION_UNANSWERED",
      "1800s TERMINATION_ORDERED",
    ]);
    expect(agent.did("withdraw-escalation")).toMatchObject([{ key: "worker-1.1/over", escalation: first }]);
  });

  it("is withdrawn when the agent is well again", () => {
    const { agent, prints } = isAsked();
    prints(3);
    expect(agent.did("withdraw-escalation")).toHaveLength(1);
    expect(agent.told("ESCALATION_UNANSWERED")).toEqual([]);
  });

  it("is withdrawn when its process is gone: there is something else to do", () => {
    const held = goesQuiet({ hold: { input: "none" } });
    held.exits({ code: 1 });
    expect(held.agent.did("withdraw-escalation")).toHaveLength(1);
    expect(held.agent.did("restart-agent")).toHaveLength(1);
  });
});

describe("SEV-1", () => {
  const loud = (agent: Story) => agent.did("raise-alert").map(({ key }) => key.split("/").pop());

  it("it is when several critical tasks wait; unacknowledged for five minutes it is told, and the ladder goes on", () => {
    const { agent, passes } = isAsked({ doubt: { criticalBlocked: 2 } });
    expect(agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ severity: "SEV-1" }]);
    passes("20m");
    expect(agent.when("ESCALATION_UNACKNOWLEDGED", "TERMINATION_ORDERED")).toEqual([
      "1200s ESCALATION_UNACKNOWLEDGED",
      "1800s TERMINATION_ORDERED",
    ]);
    expect(agent.did("raise-alert").at(-1)).toMatchObject({ key: "worker-1.1/overdue", severity: "critical" });
    expect(agent.did("resolve-alert").map(({ key }) => key)).toContain("worker-1.1/overdue/resolved");
  });

  it("is told at that very second, though nothing else happens", () => {
    const agent = story({ doubt: { criticalBlocked: 2 } });
    agent.beats();
    agent.silentFor("10m");
    expect(agent.when("ESCALATION_TRIGGERED", "ESCALATION_UNACKNOWLEDGED")).toEqual([
      "17s ESCALATION_TRIGGERED",
      "317s ESCALATION_UNACKNOWLEDGED",
    ]);
  });

  it("once acknowledged by a person is told no more", () => {
    const { agent, passes } = isAsked({ doubt: { criticalBlocked: 2 } });
    agent.acknowledges();
    agent.acknowledges();
    passes("14m");
    expect(agent.told("ESCALATION_ACKNOWLEDGED")).toMatchObject([{ actor: "operator", escalation: first }]);
    expect(agent.told("ESCALATION_UNACKNOWLEDGED")).toEqual([]);
  });

  it("it becomes when the orchestrator cannot be asked: a person is called at once, however often that is said", () => {
    const { agent, handsAnswer, passes } = isAsked();
    handsAnswer("worker-1.1/asked", undelivered);
    handsAnswer("worker-1.1/asked", undelivered);
    expect(agent.told("ESCALATION_UNDELIVERED")).toMatchObject([{ problem: "connection refused" }]);
    expect(loud(agent)).toContain("undelivered");
    expect(agent.record.ladder.incident?.severity).toBe("SEV-1");
    passes("5m");
    expect(agent.told("ESCALATION_UNACKNOWLEDGED")).toHaveLength(1);
    passes("10m");
    expect(agent.did("stop-agent")).toHaveLength(1);
    expect(agent.did("resolve-alert").map(({ key }) => key)).toEqual(
      expect.arrayContaining(["worker-1.1/overdue/resolved", "worker-1.1/undelivered/resolved"]),
    );
  });

  it("leaves a person their five minutes, however late it became that", () => {
    const { agent, handsAnswer, passes } = isAsked();
    passes("6m");
    handsAnswer("worker-1.1/asked", undelivered);
    passes("7m");
    expect(agent.when("ESCALATION_UNDELIVERED", "ESCALATION_UNACKNOWLEDGED")).toEqual([
      "1260s ESCALATION_UNDELIVERED",
      "1560s ESCALATION_UNACKNOWLEDGED",
    ]);
    expect(agent.told("ESCALATION_UNACKNOWLEDGED")).toMatchObject([{ waitedSeconds: 300 }]);
    const late = isAsked();
    late.passes("810s");
    late.handsAnswer("worker-1.1/asked", undelivered);
    late.passes("10m");
    expect(late.agent.told("ESCALATION_UNACKNOWLEDGED")).toEqual([]);
    expect(late.agent.when("TERMINATION_ORDERED")).toEqual(["1800s TERMINATION_ORDERED"]);
  });

  it("it becomes when a second critical task blocks while it is open, once and for good", () => {
    const { agent, passes } = isAsked();
    agent.monitorDoubts({ criticalBlocked: 1 });
    expect(agent.told("ESCALATION_RAISED")).toEqual([]);
    passes("2m");
    agent.monitorDoubts({ criticalBlocked: 2 });
    agent.monitorDoubts({ criticalBlocked: 3 });
    agent.monitorDoubts({ criticalBlocked: 0 });
    expect(agent.told("ESCALATION_RAISED")).toEqual([
      { agentId: "worker-1", escalation: first, severity: "SEV-1", criticalBlocked: 2 },
    ]);
    expect(agent.record.ladder.incident?.severity).toBe("SEV-1");
    passes("6m");
    expect(agent.when("ESCALATION_RAISED", "ESCALATION_UNACKNOWLEDGED")).toEqual([
      "1020s ESCALATION_RAISED",
      "1320s ESCALATION_UNACKNOWLEDGED",
    ]);
  });

  it("that nobody acknowledges is told in a freeze as well, though nothing else is done", () => {
    const { agent, passes, handsAnswer } = isAsked();
    agent.monitorDoubts({ frozen: true });
    passes("14m");
    handsAnswer("worker-1.1/asked", undelivered);
    passes("1h");
    expect(agent.when("ESCALATION_UNDELIVERED", "ESCALATION_UNACKNOWLEDGED", "ESCALATION_UNANSWERED")).toEqual([
      "1740s ESCALATION_UNDELIVERED",
      "2040s ESCALATION_UNACKNOWLEDGED",
    ]);
    expect(loud(agent)).toContain("overdue");
    expect(agent.did("stop-agent")).toEqual([]);
  });

  it("does not come of a question that was delivered", () => {
    const { agent, handsAnswer, passes } = isAsked();
    handsAnswer("worker-1.1/asked", "delivered");
    handsAnswer("worker-1.1/asked", undelivered);
    passes("6m");
    expect(agent.told("ESCALATION_UNDELIVERED")).toEqual([]);
    expect(agent.told("ESCALATION_UNACKNOWLEDGED")).toEqual([]);
  });
});
