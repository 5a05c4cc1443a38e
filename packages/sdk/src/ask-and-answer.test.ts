import { Fault } from "@rouse/contract";
import { beforeEach, describe, expect, it } from "vitest";
import { type AskAndAnswer, askAndAnswer } from "./ask-and-answer.ts";
import { listenAndNote } from "./fake-api.test-support.ts";
import { openLine } from "./open-line.ts";

let rouse: AskAndAnswer;
let noted: Awaited<ReturnType<typeof listenAndNote>>["noted"];

beforeEach(async () => {
  const opened = await listenAndNote();
  noted = opened.noted;
  rouse = askAndAnswer(openLine(opened.line));
});

describe("asking and answering", () => {
  it("takes the paths of the API and sends what was given, no more", async () => {
    noted.answer.body = { escalations: [] };
    expect(await rouse.escalations()).toEqual([]);
    await rouse.escalations({ agentId: "a:b" });
    noted.answer.body = { escalation: "a:b.7", outcome: "taken" };
    await rouse.escalation("a:b.7");
    expect(await rouse.decide("a:b.7", { decision: "allow_more_time", minutes: 5 })).toEqual(noted.answer.body);
    await rouse.acknowledge("a:b.7", { actor: "ada" });
    await rouse.acknowledge("a:b.7");
    await rouse.sendNudge("a:b");
    await rouse.sendNudge("a:b", "go on", "ada");
    await rouse.escalateToOrchestrator("a:b", "it looks odd");
    await rouse.answerNudge("a:b", { kind: "blocker", text: "no database" });
    expect(noted.asked).toEqual([
      ["GET", "/api/v1/escalations", null],
      ["GET", "/api/v1/escalations?agentId=a%3Ab", null],
      ["GET", "/api/v1/escalations/a%3Ab.7", null],
      ["POST", "/api/v1/escalations/a%3Ab.7/decision", { decision: "allow_more_time", minutes: 5 }],
      ["POST", "/api/v1/escalations/a%3Ab.7/acknowledge", { actor: "ada" }],
      ["POST", "/api/v1/escalations/a%3Ab.7/acknowledge", {}],
      ["POST", "/api/v1/agents/a%3Ab/nudge", {}],
      ["POST", "/api/v1/agents/a%3Ab/nudge", { message: "go on", actor: "ada" }],
      ["POST", "/api/v1/agents/a%3Ab/escalate", { reason: "it looks odd" }],
      ["POST", "/api/v1/agents/a%3Ab/answers", { kind: "blocker", text: "no database" }],
    ]);
  });

  it("says how it ended when somebody else was first", async () => {
    const message = "a.7 was decided by ada";
    noted.answer = {
      status: 409,
      body: { code: "escalation-closed", detail: message, retryable: false, ended: {} },
    };
    const fault = await rouse.decide("a.7", { decision: "force_handoff" }).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(Fault);
    expect(fault).toMatchObject({ code: "escalation-closed", message });
  });

  it("asks nothing for an id that would make another path", async () => {
    for (const id of ["", "..", "a", "a.", "a.0", "a/b.1", "a?b.1", "a.1/../2"]) {
      await expect(rouse.escalation(id), id).rejects.toMatchObject({ code: "escalation-unknown" });
      await expect(rouse.decide(id, { decision: "force_handoff" }), id).rejects.toMatchObject({
        code: "escalation-unknown",
      });
    }
    for (const id of ["", "..", "a/b"])
      await expect(rouse.sendNudge(id), id).rejects.toMatchObject({ code: "agent-unknown" });
    expect(noted.asked).toEqual([]);
  });
});
