import { rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { HealthState, SavedEvent } from "@rouse/contract";
import { afterEach, describe, expect, it } from "vitest";
import { sh } from "./agent-once.ts";
import { type BeatingAgent, startBeating } from "./beating-agent.ts";
import { cleanUp } from "./clean-up.ts";
import { endAgentsAfterwards } from "./end-agents.ts";
import { type Daemon, quickBeats, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

afterEach(cleanUp);

const untilAllHeard = (agents: readonly BeatingAgent[]): Promise<boolean> =>
  until("every agent is known", () => agents.every(({ answers }) => answers.some(({ status }) => status === 200)));

const untilState = (daemon: Daemon, agentId: string, state: HealthState): Promise<boolean> =>
  until(`${agentId} is ${state}`, async () => (await daemon.rouse.getAgentHealth(agentId)).state === state);

const countUnanswered = ({ answers }: BeatingAgent): number => answers.filter(({ status }) => status === 0).length;

const isChangeTo =
  (state: HealthState) =>
  (event: SavedEvent): boolean =>
    event.type === "HEALTH_STATE_CHANGED" && event.payload.to === state;

const agentOf = (event: SavedEvent): unknown => (event.payload as { agentId?: string }).agentId;

describe("a daemon that stood still for longer than any of its agents may be silent", () => {
  it("takes in what waited in the sockets, blames itself and nobody else", async () => {
    const daemon = await startDaemon({ config: quickBeats });
    const agents = ["a", "b", "c"].map((agentId) => startBeating(daemon, agentId));
    await untilAllHeard(agents);

    daemon.process.child.kill("SIGSTOP");
    // Silence of 4 s is too long: fifteen beats, 0.4 s apart, take 6 s.
    await until("fifteen beats of each wait", () => agents.every((agent) => agent.waiting() >= 15));
    daemon.process.child.kill("SIGCONT");
    await until("all that waited are answered", () => agents.every((agent) => agent.waiting() <= 1));

    const gap = await until("the gap is recorded", async () =>
      (await daemon.events("MONITOR_GAP")).find(
        (event) => event.type === "MONITOR_GAP" && event.payload.cause === "stall" && event.payload.lastedSeconds > 4,
      ),
    );
    // Some more beats, so that whoever was wrongly judged would show.
    const then = agents.map(({ answers }) => answers.length);
    await until("they went on beating", () => agents.every(({ answers }, i) => answers.length > (then[i] ?? 0) + 5));
    for (const { answers } of agents) {
      expect(new Set(answers.map(({ status, ack }) => `${status} ${ack?.status}`))).toEqual(new Set(["200 accepted"]));
      expect(answers.flatMap(({ ack }) => ack?.commands ?? []).map(({ because }) => because)).toContain(
        "the monitor was blind (stall)",
      );
    }
    expect(await daemon.events("HEALTH_STATE_CHANGED", "VERDICTS_HELD_BACK")).toEqual([]);
    expect((await daemon.rouse.status()).monitor.lastGap?.cause).toBe("stall");
    expect(gap.id).toBeGreaterThan(0);
  });
});

describe("an agent that had nobody to beat to", () => {
  it.each(["stood still", "was not running"])("is given time after the daemon %s", async (trouble) => {
    const daemon = await startDaemon({ config: `${quickBeats}  self_check: { amnesty_margin_seconds: 30 }\n` });
    const { home, process: running } = daemon;
    const metronome = startBeating(daemon, "metronome");
    const cutOff = startBeating(daemon, "cut-off");
    await untilAllHeard([metronome, cutOff]);
    await cutOff.fallSilent();

    // Fifteen beats, 0.4 s apart, that were not answered: 6 s, where silence of 4 s is too long.
    if (trouble === "stood still") {
      running.child.kill("SIGSTOP");
      await until("the daemon has been still for long", () => metronome.waiting() >= 15);
      running.child.kill("SIGCONT");
    } else {
      await daemon.end("SIGKILL");
      await until("the daemon has been away for long", () => countUnanswered(metronome) >= 15);
      await startDaemon({ home, args: ["--port", new URL(daemon.url).port] });
    }
    await until("the daemon noticed", async () =>
      (await daemon.events("MONITOR_GAP")).some(
        (event) => event.type === "MONITOR_GAP" && event.payload.lastedSeconds > 4,
      ),
    );
    const heard = metronome.answers.length;
    await until("the daemon had time to judge", () => metronome.answers.length > heard + 5);
    const back = startBeating(daemon, "cut-off");
    await until("it has beaten a few times", () => back.answers.length > 3);
    expect(await daemon.events("HEALTH_STATE_CHANGED", "ALERT_RAISED")).toEqual([]);
  });
});

describe("an agent that died", () => {
  it.each([
    ["alone", []],
    ["beside one that lives", ["survivor"]],
  ])("%s is DEGRADED, then UNRESPONSIVE with an alert, and well again with its next beat", async (_, others) => {
    const daemon = await startDaemon({ config: quickBeats });
    const agents = ["mortal", ...others].map((agentId) => startBeating(daemon, agentId));
    await untilAllHeard(agents);

    await agents[0]?.fallSilent();
    const fellSilent = (await daemon.events()).at(-1)?.id ?? 0;
    await untilState(daemon, "mortal", "UNRESPONSIVE");
    await until("the alert is in the log", () => /mortal is UNRESPONSIVE/.test(daemon.process.stderr()));
    const mortal = startBeating(daemon, "mortal");
    await untilState(daemon, "mortal", "HEALTHY");
    await until("that is in the log too", () => /"alert":"mortal[^"]*resolved"/.test(daemon.process.stderr()));

    const events = await daemon.rouse.events({ agentId: "mortal", after: fellSilent });
    expect(events.map(inShort)).toEqual([
      "HEARTBEAT_MISSED 1",
      "HEARTBEAT_MISSED 2",
      "HEALTH_STATE_CHANGED to DEGRADED",
      "HEARTBEAT_MISSED 3",
      "HEALTH_STATE_CHANGED to UNRESPONSIVE",
      "ALERT_RAISED critical",
      "INCIDENT_OPENED",
      "ESCALATION_TRIGGERED",
      "HEALTH_STATE_CHANGED to HEALTHY",
      "ALERT_RESOLVED",
      "INCIDENT_CLOSED",
      "AGENT_RECOVERED from UNRESPONSIVE",
    ]);
    for (const other of others) expect((await daemon.rouse.getAgentHealth(other)).state).toBe("HEALTHY");
    await mortal.fallSilent();
  });
});

describe("six agents that fall silent at once", () => {
  it("are one incident: nobody is judged until our own path is proven, then only those who stayed away", async () => {
    const daemon = await startDaemon({ config: quickBeats });
    const ids = [1, 2, 3, 4, 5, 6].map((n) => `worker-${n}`);
    const agents = ids.map((agentId) => startBeating(daemon, agentId));
    await untilAllHeard(agents);

    await Promise.all(agents.map((agent) => agent.fallSilent()));
    await until("the fleet is on hold", async () => (await daemon.events("VERDICTS_HELD_BACK")).length > 0);
    const held = await daemon.rouse.status();
    expect(held).toMatchObject({
      status: "on-hold",
      monitor: { holds: [{ because: "mass-silence", scope: "fleet" }] },
    });
    const [back, gone] = [ids.slice(0, 2), ids.slice(2)];
    for (const agentId of back) startBeating(daemon, agentId);
    for (const agentId of gone) await untilState(daemon, agentId, "UNRESPONSIVE");

    await until("the hold is over", async () => (await daemon.events("VERDICTS_RESUMED")).length > 0);
    const events = await daemon.events();
    const [hold, ...others] = events.filter(({ type }) => type === "VERDICTS_HELD_BACK");
    expect(others).toEqual([]);
    const judged = events.filter(isChangeTo("UNRESPONSIVE"));
    expect(judged.map(agentOf).sort()).toEqual(gone);
    // Without the hold it would have been two seconds after it began; with it, a TTL at least.
    const waited = Math.min(...judged.map(({ time }) => Date.parse(time))) - Date.parse(hold?.time ?? "");
    expect(waited).toBeGreaterThan(2900);
    for (const agentId of back) expect((await daemon.rouse.getAgentHealth(agentId)).state).toBe("HEALTHY");
  });

  it("are one alert and one question, decided once for all, and over when the last of them is heard; a restart changes nothing", async () => {
    const daemon = await startDaemon({ config: quickBeats });
    const ids = [1, 2, 3, 4, 5, 6].map((n) => `worker-${n}`);
    const agents = ids.map((agentId) => startBeating(daemon, agentId));
    await untilAllHeard(agents);
    await Promise.all(agents.map((agent) => agent.fallSilent()));
    for (const agentId of ids) await untilState(daemon, agentId, "UNRESPONSIVE");
    await until("somebody is asked", async () => (await daemon.rouse.escalations()).length > 0);

    const [question, ...others] = await daemon.rouse.escalations();
    expect(others).toEqual([]);
    expect(question).toMatchObject({
      agentId: "rouse.fleet",
      reason: "mass-silence",
      members: { count: 6, agents: ids },
    });
    const notice = await daemon.rouse.escalation(question?.id ?? "");
    expect(notice.context.hints.length).toBeGreaterThan(0);
    const why = await daemon.rouse.why("worker-1");
    expect(why.monitor.fleetIncidents).toMatchObject([{ id: why.partOf, members: 6, escalation: question?.id }]);
    await daemon.rouse.acknowledge(question?.id ?? "", {});
    await daemon.rouse.decide(question?.id ?? "", { decision: "terminate_and_recover" });
    await expect(daemon.rouse.decide(question?.id ?? "", { decision: "allow_more_time" })).rejects.toThrow(/decided/);

    daemon.process.child.kill("SIGKILL");
    await daemon.process.ended;
    const again = await startDaemon({ home: daemon.home });
    const back = ids.map((agentId) => startBeating(again, agentId));
    for (const agentId of ids) await untilState(again, agentId, "HEALTHY");
    await until("it is over", async () => (await again.events("FLEET_INCIDENT_CLOSED")).length > 0);
    const told = await again.events("ALERT_RAISED", "ALERT_RESOLVED", "ESCALATION_TRIGGERED", "INCIDENT_OPENED");
    expect(told.map(({ type, payload }) => [type, (payload as { agentId: string | null }).agentId])).toEqual([
      ["ALERT_RAISED", null],
      ["ESCALATION_TRIGGERED", "rouse.fleet"],
      ["ALERT_RESOLVED", null],
    ]);
    await Promise.all(back.map((agent) => agent.fallSilent()));
  });
});

describe("six agents that die at once", () => {
  it("are one alert and, when their restarts are used up, one question; one decision brings all of them back", async () => {
    const config = `${quickBeats}  restart: { max_attempts: 1, cooldown_seconds: 0.1 }\n`;
    const daemon = await startDaemon({ config });
    endAgentsAfterwards(daemon.home);
    const ids = [1, 2, 3, 4, 5, 6].map((n) => `worker-${n}`);
    const flag = join(dirname(daemon.home), "broken");
    const lives = `until [ -e ${flag} ]; do sleep 0.1; done; exit 9`;
    for (const id of ids) await daemon.cli("spawn", "--name", id, "--task", `t-${id}`, "--", ...sh(lives));
    await daemon.cli("spawn", "--name", "other", "--", ...sh("sleep 1000"));
    writeFileSync(flag, "");
    await until("somebody is asked", async () => (await daemon.rouse.escalations()).length > 0);
    await until("all are down for good", async () => (await daemon.events("RESTARTS_EXHAUSTED")).length === 6);
    const [question, ...others] = await daemon.rouse.escalations();
    expect(others).toEqual([]);
    expect(question).toMatchObject({ agentId: "rouse.fleet", reason: "mass-failure", cause: "process-exited" });
    expect(question?.members).toMatchObject({ count: 6 });
    const why = await daemon.cli("why", "worker-1");
    expect(why.stdout).toMatch(/it ended together with others, 6 are still down/);
    const told = async () => (await daemon.events("ALERT_RAISED")).map(agentOf);
    expect((await told()).filter((agentId) => agentId !== null)).toEqual([]);

    rmSync(flag);
    await daemon.rouse.decide(question?.id ?? "", { decision: "terminate_and_recover" });
    for (const agentId of ids) await untilState(daemon, agentId, "HEALTHY");
    expect((await told()).filter((agentId) => agentId !== null)).toEqual([]);
    expect((await daemon.rouse.status()).monitor.fleetIncidents).toMatchObject([
      { because: "mass-failure", members: 0 },
    ]);
  });
});

function inShort(event: SavedEvent): string {
  switch (event.type) {
    case "HEALTH_STATE_CHANGED":
      return `${event.type} to ${event.payload.to}`;
    case "HEARTBEAT_MISSED":
      return `${event.type} ${event.payload.missed}`;
    case "ALERT_RAISED":
      return `${event.type} ${event.payload.severity}`;
    case "AGENT_RECOVERED":
      return `${event.type} from ${event.payload.from}`;
    default:
      return event.type;
  }
}
