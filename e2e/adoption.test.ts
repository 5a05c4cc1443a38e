import { afterEach, describe, expect, it } from "vitest";
import { cleanUp, makeFolder } from "./clean-up.ts";
import { agentLives, endHeldAfterwards, holderOf, outputOf, spawnAgent } from "./held-agents.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

afterEach(cleanUp);

const agents = 20;
const kills = 10;
const names = Array.from({ length: agents }, (_, i) => `worker-${i + 1}`);

/** Numbered lines, so that one that is missing or repeated shows. */
const counting = ["sh", "-c", 'i=0; while :; do i=$((i+1)); echo "line $i of many"; sleep 0.2; done'];
/** Asks, is not answered, goes on by itself. */
const asking = [
  "sh",
  "-c",
  'i=0; while :; do i=$((i+1)); printf "Round $i: continue? [y/N] "; sleep 3; echo; echo "round $i over"; sleep 2; done',
];

const heldNow = async (daemon: Daemon) =>
  (await daemon.rouse.getAllAgentHealth()).filter(({ terminal }) => terminal?.holder === "here");

describe("a monitor that is killed again and again while its agents write", () => {
  it(`finds ${agents} agents each of ${kills} times, and no line is missing or repeated`, async () => {
    const home = `${makeFolder()}/home`;
    endHeldAfterwards(home);
    let daemon = await startDaemon({ home });
    for (const name of names) await spawnAgent(home, name, counting);
    await spawnAgent(home, "asker", asking);
    const born = [...names, "asker"].map((name) => holderOf(home, name));
    await until("everyone is held", async () => (await heldNow(daemon)).length === agents + 1);

    const adoptions: number[] = [];
    for (let round = 0; round < kills; round++) {
      await daemon.end("SIGKILL");
      daemon = await startDaemon({ home });
      const ready = performance.now();
      await until("everyone is adopted", async () => {
        const held = await daemon.events("AGENT_HELD", "MONITOR_STARTED");
        const lastStart = held.findLastIndex(({ type }) => type === "MONITOR_STARTED");
        return held.length - lastStart - 1 === agents + 1;
      });
      adoptions.push(Math.round(performance.now() - ready));
    }
    console.info(`adoption of ${agents + 1} agents after each kill, ms: ${adoptions.join(", ")}`);

    expect(born.filter((file) => !agentLives(file))).toEqual([]);
    for (const file of born)
      expect(holderOf(home, file.agentId)).toMatchObject({ holder: file.holder, agent: file.agent });

    const linesOf = (name: string): string[] =>
      outputOf(home, name)
        .text.split("\r\n")
        .filter((line) => line !== "");
    await until("everyone has written more than ten lines", () => names.every((name) => linesOf(name).length > 10));
    const results = await Promise.all(names.map((name) => daemon.rouse.terminateAgent(name)));
    expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(["stopped"]));
    for (const name of names) {
      const lines = linesOf(name).slice(0, -1);
      expect(lines).toEqual(lines.map((_, i) => `line ${i + 1} of many`));
      expect(lines.length).toBeGreaterThanOrEqual(10);
    }
    const health = await daemon.rouse.getAllAgentHealth();
    for (const agent of health.filter(({ agentId }) => names.includes(agentId))) {
      expect(agent).toMatchObject({ state: "TERMINATED", terminal: { exit: { cause: "stopped" } } });
      expect(agent.terminal?.outputBytes).toBe(outputOf(home, agent.agentId).end);
    }
  }, 240_000);

  it("calls nobody stuck who wrote all the while, before its holder was heard", async () => {
    const home = `${makeFolder()}/home`;
    endHeldAfterwards(home);
    const impatient = "heartbeat: { startup_grace_seconds: 1 }, terminal: { idle_timeout_minutes: 0.05 }";
    let daemon = await startDaemon({ home, config: `health_monitoring: { ${impatient} }\n` });
    const { holder } = await spawnAgent(home, "writer", counting);
    await until("it is held", async () => (await heldNow(daemon)).length === 1);
    await daemon.end("SIGKILL");
    const before = outputOf(home, "writer").end;
    await until("it has written for longer than is waited for it", () => outputOf(home, "writer").end > before + 400);

    process.kill(holder.pid, "SIGSTOP");
    daemon = await startDaemon({ home });
    await spawnAgent(home, "sleeper", ["sleep", "1000"]);
    await until("others are judged", async () => (await daemon.rouse.getAgentHealth("sleeper")).state === "STUCK");
    process.kill(holder.pid, "SIGCONT");
    const woken = Date.now();
    await until("its holder is heard", async () => {
      const { terminal } = await daemon.rouse.getAgentHealth("writer");
      return Date.parse(terminal?.lastOutput ?? "1970") > woken;
    });
    const judged = await daemon.events("HEALTH_STATE_CHANGED", "ALERT_RAISED", "INCIDENT_OPENED");
    expect(judged.filter(({ payload }) => (payload as { agentId: string }).agentId === "writer")).toEqual([]);
  }, 120_000);

  it("hears every question once, also those asked while nobody was there", async () => {
    const home = `${makeFolder()}/home`;
    endHeldAfterwards(home);
    await spawnAgent(home, "asker", asking);
    await until("it has asked twice with no monitor", () => outputOf(home, "asker").text.includes("Round 2"));
    let daemon = await startDaemon({ home });
    for (let round = 3; round <= 5; round++) {
      await until(`it asks for the ${round}th time`, () => outputOf(home, "asker").text.includes(`Round ${round}`));
      await daemon.end("SIGKILL");
      daemon = await startDaemon({ home });
    }
    await until("it is over with round 5", () => outputOf(home, "asker").text.includes("round 5 over"));
    await until("the answers are heard", async () => (await daemon.events("AGENT_NEEDS_YOU_NO_MORE")).length >= 5);
    await daemon.rouse.terminateAgent("asker");
    const asked = outputOf(home, "asker").text.match(/continue\?/g)?.length ?? 0;
    const heard = (await daemon.events("AGENT_NEEDS_YOU")).length;
    expect([asked, asked - 1]).toContain(heard);
    expect(heard).toBeGreaterThanOrEqual(5);
  }, 120_000);
});

describe("an agent that ends while no monitor is there", () => {
  it.each([
    ["finished", ["sh", "-c", "echo done"], { state: "HEALTHY", terminal: { exit: { code: 0, cause: "by-itself" } } }],
    ["failed", ["sh", "-c", "exit 3"], { terminal: { exit: { code: 3, cause: "by-itself" } } }],
  ])("is known to have %s when one comes", async (_, command, expected) => {
    const home = `${makeFolder()}/home`;
    const file = await spawnAgent(home, "brief", command, ["--policy", "default"]);
    await until("it is gone", () => !agentLives(file));
    const daemon = await startDaemon({ home, config: "health_monitoring: { mode: observe }\n" });
    const agent = await until("its end is known", async () => {
      const known = await daemon.rouse.getAllAgentHealth();
      return known.find(({ terminal }) => terminal?.exit !== null && terminal !== null);
    });
    expect(agent).toMatchObject(expected);
  });

  it("and was known before, is told once, whatever number of monitors come", async () => {
    const home = `${makeFolder()}/home`;
    let daemon = await startDaemon({ home });
    const file = await spawnAgent(home, "brief", ["sleep", "1000"]);
    await until("it is held", async () => (await heldNow(daemon)).length === 1);
    await daemon.end("SIGKILL");
    if (file.agent !== null) process.kill(file.agent.pid, "SIGTERM");
    await until("it is gone", () => !agentLives(file));
    for (let i = 0; i < 3; i++) {
      daemon = await startDaemon({ home, config: "health_monitoring: { mode: assist }\n" });
      await until("its end is known", async () => (await daemon.events("PROCESS_EXITED")).length > 0);
      if (i < 2) await daemon.end("SIGTERM");
    }
    expect(await daemon.events("PROCESS_EXITED")).toMatchObject([{ payload: { signal: "SIGTERM", cause: "killed" } }]);
  });
});

describe("a holder that is killed", () => {
  it("is missed, and the end of its agent is known from the process itself", async () => {
    const home = `${makeFolder()}/home`;
    const daemon = await startDaemon({ home, config: "health_monitoring: { mode: assist }\n" });
    const file = await spawnAgent(home, "orphan", ["sleep", "1000"], ["--restart", "on-failure"]);
    await until("it is held", async () => (await heldNow(daemon)).length === 1);
    const killed = performance.now();
    process.kill(file.holder.pid, "SIGKILL");
    const [exit] = await until("its end is known", async () => {
      const events = await daemon.events("PROCESS_EXITED");
      return events.length > 0 && events;
    });
    console.info(`known ${Math.round(performance.now() - killed)} ms after its holder was killed`);
    expect(exit).toMatchObject({ payload: { agentId: "orphan", code: null, signal: null, cause: "unseen" } });
    expect(await daemon.rouse.getAgentHealth("orphan")).toMatchObject({ state: "UNRESPONSIVE" });
  });

  it("leaves an agent that ignores the hang-up: it is reported, and can still be stopped", async () => {
    const home = `${makeFolder()}/home`;
    const daemon = await startDaemon({ home, config: "health_monitoring: { mode: assist }\n" });
    const stubborn = ["sh", "-c", "trap '' HUP; while :; do sleep 1; done"];
    const file = await spawnAgent(home, "stubborn", stubborn);
    await until("it is held", async () => (await heldNow(daemon)).length === 1);
    process.kill(file.holder.pid, "SIGKILL");
    await until("the loss is told", async () => (await daemon.rouse.getAgentHealth("stubborn")).state === "DEGRADED");
    expect(await daemon.events("HOLDER_LOST", "ALERT_RAISED")).toMatchObject([
      { payload: { process: "alive" } },
      { payload: { severity: "warning" } },
    ]);
    expect(agentLives(file)).toBe(true);
    expect(await daemon.rouse.terminateAgent("stubborn")).toMatchObject({ outcome: "stopped" });
    expect(agentLives(file)).toBe(false);
  });

  it("or merely stopped, does not hide the end of its agent", async () => {
    const home = `${makeFolder()}/home`;
    const daemon = await startDaemon({ home, config: "health_monitoring: { mode: assist }\n" });
    const file = await spawnAgent(home, "hidden", ["sleep", "1000"]);
    await until("it is held", async () => (await heldNow(daemon)).length === 1);
    process.kill(file.holder.pid, "SIGSTOP");
    if (file.agent !== null) process.kill(file.agent.pid, "SIGKILL");
    await until("its end is known", async () => (await daemon.events("PROCESS_EXITED")).length > 0, 90_000);
    process.kill(file.holder.pid, "SIGCONT");
  }, 120_000);
});

describe("a laptop that is closed and opened again", () => {
  it("finds its agents as it left them: the time nobody saw is held against nobody", async () => {
    const home = `${makeFolder()}/home`;
    // Six seconds without output would be a verdict, were the pause not known for what it is.
    const config = "health_monitoring: { terminal: { idle_timeout_minutes: 0.1 } }\n";
    const daemon = await startDaemon({ home, config });
    const file = await spawnAgent(home, "sleeper", counting);
    await until("it is held and writes", async () => {
      const [agent] = await heldNow(daemon);
      return (agent?.terminal?.outputBytes ?? 0) > 0;
    });
    const everyone = [daemon.process.pid, file.holder.pid, file.agent?.pid ?? 0];
    for (const pid of everyone) process.kill(pid, "SIGSTOP");
    await new Promise((resolve) => setTimeout(resolve, 10_000)); // this is the closed lid itself, not a wait for something
    for (const pid of everyone.toReversed()) process.kill(pid, "SIGCONT");
    await until("the pause is noticed", async () => (await daemon.events("MONITOR_GAP")).length > 0);
    const before = outputOf(home, "sleeper").end;
    await until("the agent goes on", () => outputOf(home, "sleeper").end > before + 500);
    expect(await daemon.events("HEALTH_STATE_CHANGED", "HOLDER_LOST", "PROCESS_EXITED")).toEqual([]);
    expect(await daemon.rouse.getAgentHealth("sleeper")).toMatchObject({
      state: "HEALTHY",
      terminal: { holder: "here" },
    });
    expect(await daemon.rouse.terminateAgent("sleeper")).toMatchObject({ outcome: "stopped" });
  });
});
