import type { EventType } from "@rouse/contract";
import { afterEach, describe, expect, it } from "vitest";
import { agentOnce } from "./agent-once.ts";
import { cleanUp } from "./clean-up.ts";
import { fakeStream } from "./fake-claude.ts";
import { outputOf, spawnAgent } from "./held-agents.ts";
import { crashAndReturn, eventOnce, eventsOf, fastPolicy, makeRepository, startWeak } from "./ladder-agents.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";

afterEach(cleanUp);

const hasFinished = ({ activity }: { activity: { kind: string } }): boolean => activity.kind === "FINISHED";

const countOf = async (daemon: Daemon, agentId: string, type: EventType): Promise<number> =>
  (await eventsOf(daemon, agentId)).filter((event) => event.type === type).length;

describe("an agent that is not well", () => {
  it("and loops is nudged by the answer to its heartbeat, takes the hint and goes on by itself", async () => {
    const daemon = await startDaemon({ config: fastPolicy });
    await startWeak(daemon, "lou", "looper");
    const { payload } = await eventOnce(daemon, "lou", "NUDGE_SENT");
    expect(payload).toMatchObject({ channel: "acknowledgement", attempt: 1 });
    expect(payload.message).toMatch(/^FACT: The same call .* times/);
    await agentOnce(daemon, "lou", "finishes", hasFinished);
    const types = (await eventsOf(daemon, "lou")).map(({ type }) => type);
    expect(types).toContain("NUDGE_ACTED");
    expect(types.filter((type) => type === "INCIDENT_CLOSED")).toHaveLength(1);
    expect(types).not.toContain("TERMINATION_ORDERED");
    expect(outputOf(daemon.home, "lou").text).toContain("told: FACT: The same call");
  });

  it("and hangs is stopped by its owner's rule and goes on after its last completed step; every step is audited", async () => {
    const daemon = await startDaemon({ config: fastPolicy });
    await startWeak(daemon, "hank", "hanger");
    await agentOnce(daemon, "hank", "finishes", hasFinished);
    const { payload: over } = await eventOnce(daemon, "hank", "AGENT_TERMINATED");
    expect(over.evidence).toEqual(expect.arrayContaining(["absence", "owner-rule"]));
    const { payload: back } = await eventOnce(daemon, "hank", "RECOVERY_COMPLETED");
    expect(back).toMatchObject({ taskId: "task-of-hank", step: 3, incarnation: 2, lost: { checkpoints: 0 } });
    expect(over.checkpoint).toBe(back.fromCheckpoint);
    const { text } = outputOf(daemon.home, "hank");
    expect(text).toContain("back: going on after step 3 (make it pass)");
    expect(text.match(/step 3: make it pass/g)).toHaveLength(1);
    const verified = await daemon.cli("audit", "verify", "--json");
    expect(JSON.parse(verified.stdout)).toMatchObject({ sound: true, problems: [], anchors: [{ says: "agrees" }] });
  });

  it("and is asked about is decided upon once: who comes second is told who was first, and a wrong id changes nothing", async () => {
    const daemon = await startDaemon({ config: fastPolicy });
    await startWeak(daemon, "ada", "worker");
    await eventOnce(daemon, "ada", "CHECKPOINT_SAVED");
    const { escalation } = await daemon.rouse.escalateToOrchestrator("ada", "a person wonders");
    await expect(daemon.rouse.decide("ada.77", { decision: "allow_more_time" })).rejects.toMatchObject({
      code: "escalation-unknown",
    });
    const answers = await Promise.allSettled([
      daemon.rouse.decide(escalation, { decision: "allow_more_time", actor: "first" }),
      daemon.rouse.decide(escalation, { decision: "terminate_and_recover", actor: "second" }),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    await agentOnce(daemon, "ada", "finishes", hasFinished);
    expect(await countOf(daemon, "ada", "ESCALATION_DECIDED")).toBe(1);
  });
});

describe("a daemon that is killed in the middle of it", () => {
  it("asks no second time what it has asked, and stops the agent when the time to answer is up", async () => {
    const config = fastPolicy.replace("timeout_seconds: 30", "timeout_seconds: 8");
    const first = await startDaemon({ config });
    await spawnAgent(first.home, "loop", fakeStream("loop"));
    const { payload: asked } = await eventOnce(first, "loop", "ESCALATION_TRIGGERED");
    const daemon = await crashAndReturn(first);
    await agentOnce(daemon, "loop", "finishes in its next life", hasFinished);
    expect(await countOf(daemon, "loop", "ESCALATION_TRIGGERED")).toBe(1);
    expect(await countOf(daemon, "loop", "AGENT_TERMINATED")).toBe(1);
    const { payload: unanswered } = await eventOnce(daemon, "loop", "ESCALATION_UNANSWERED");
    expect(unanswered.escalation).toBe(asked.escalation);
  });

  const moments: EventType[] = [
    "INCIDENT_OPENED",
    "WORK_SAVED",
    "TERMINATION_ORDERED",
    "AGENT_TERMINATED",
    "RESTART_ORDERED",
  ];

  // One after the other: the five daemons of all moments at once starve each other on a busy machine.
  it.each(moments)("at %s finishes what it began when it comes back, and does nothing twice", async (moment) => {
    const first = await startDaemon({ config: fastPolicy });
    await startWeak(first, "hank", "hanger", ["--cwd", makeRepository()]);
    await eventOnce(first, "hank", moment);
    const daemon = await crashAndReturn(first);
    await agentOnce(daemon, "hank", `finishes although the daemon died at ${moment}`, hasFinished);
    const events = await eventsOf(daemon, "hank");
    const times = (type: EventType) => events.filter((event) => event.type === type).length;
    expect({ stopped: times("AGENT_TERMINATED"), lives: times("AGENT_RESTARTED") }).toEqual({ stopped: 1, lives: 1 });
    const { text } = outputOf(daemon.home, "hank");
    expect(text.match(/back: going on after step 3/g)).toHaveLength(1);
    expect(times("INCIDENT_OPENED")).toBe(times("INCIDENT_CLOSED"));
  });
});
