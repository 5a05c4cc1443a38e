import { type EpochMs, type EscalationNotice, minutes } from "@rouse/contract";
import type { Action } from "@rouse/core";
import { describe, expect, it } from "vitest";
import type { Asked, Orchestrator } from "../ports/orchestrator.ts";
import { dawn, escalationDesk } from "./escalation-desk.test-support.ts";
import { askOrchestrator } from "./tell-escalations.ts";

type Escalate = Extract<Action, { kind: "escalate" }>;
type Withdraw = Extract<Action, { kind: "withdraw-escalation" }>;

/** Somebody outside who is asked and answers as the test says. */
function somebody(answers: Asked) {
  const asked: { notice: EscalationNotice; until: EpochMs }[] = [];
  const withdrawn: string[] = [];
  const orchestrator: Orchestrator = {
    async ask(notice, until) {
      asked.push({ notice, until });
      return answers;
    },
    async withdraw(escalation, agentId, because) {
      withdrawn.push(`${escalation} ${agentId}: ${because}`);
    },
    close: () => undefined,
  };
  return { orchestrator, asked, withdrawn };
}

async function askAbout(answers: Asked) {
  const desk = await escalationDesk();
  desk.beat("worker-1");
  await desk.escalations.escalate("worker-1", "ada", "");
  const outside = somebody(answers);
  const refused: string[] = [];
  const hands = askOrchestrator({
    ...outside,
    notice: desk.notice,
    decide: desk.escalations.decide,
    noteRefusedAnswer: (...one) => void refused.push(one.join(" ")),
    toWall: (at) => dawn + at,
  });
  const action = desk.actions.find((one): one is Escalate => one.kind === "escalate");
  if (action === undefined) throw new Error("nobody is asked");
  return { desk, outside, hands, action, refused };
}

describe("asking the orchestrator", () => {
  it("brings the question with its context and its deadline", async () => {
    const { hands, outside, action } = await askAbout("delivered");
    expect(await hands.ask(action)).toBe("delivered");
    expect(outside.asked).toMatchObject([{ notice: { id: "worker-1.1" }, until: dawn + minutes(15) }]);
    expect(outside.asked[0]?.notice.context.lastEvents.at(-1)?.type).toBe("ESCALATION_TRIGGERED");
  });

  it("takes in an answer that comes at once, and asks nobody again after a crash", async () => {
    const { hands, outside, action, desk } = await askAbout({
      decided: { decision: "allow_more_time", actor: "orchestrator", reason: "busy", minutes: 5 },
    });
    expect(await hands.ask(action)).toBe("delivered");
    const decided = {
      escalation: "worker-1.1",
      decision: "allow_more_time",
      actor: "orchestrator:webhook",
      reason: "busy",
    };
    expect(desk.events.filter(({ type }) => type === "ESCALATION_DECIDED")).toMatchObject([{ payload: decided }]);
    expect(await hands.ask(action)).toBe("delivered");
    expect(outside.asked).toHaveLength(1);
    const withdraw = desk.actions.find((one): one is Withdraw => one.kind === "withdraw-escalation");
    if (withdraw === undefined) throw new Error("it is not withdrawn");
    await hands.withdraw(withdraw);
    expect(outside.withdrawn).toEqual(["worker-1.1 worker-1: decided: allow_more_time"]);
  });

  it("takes in no decision that nobody vouches for: it is noted, a person is told, and the question stays open", async () => {
    const problem = "https://o.example answered with a decision that is not signed; it was not taken";
    const { hands, action, desk, refused } = await askAbout({ refused: "unsigned", problem });
    expect(await hands.ask(action)).toEqual({ kind: "undelivered", problem });
    expect(refused).toEqual(["worker-1 worker-1.1 unsigned"]);
    expect(desk.escalations.escalations()).toMatchObject([{ id: "worker-1.1" }]);
  });

  it("says what is wrong when nobody took it", async () => {
    const { hands, action } = await askAbout({ problem: "https://o.example cannot be reached (ENOTFOUND)" });
    expect(await hands.ask(action)).toEqual({
      kind: "undelivered",
      problem: "https://o.example cannot be reached (ENOTFOUND)",
    });
  });
});
