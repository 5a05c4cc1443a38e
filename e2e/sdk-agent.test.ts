import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { afterwards, cleanUp, makeFolder } from "./clean-up.ts";
import { endHeldAfterwards } from "./held-agents.ts";
import { run } from "./published-packages.ts";
import { type Running, repository, startProgram } from "./run-rouse.ts";
import { type Daemon, quickBeats, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

beforeAll(async () => {
  await run(process.execPath, [
    "--input-type=module",
    "--eval",
    'import { ensureBuilt } from "./scripts/ensure-built.mjs"; await ensureBuilt();',
  ]);
});
afterEach(cleanUp);

const program = join(repository, "e2e", "sdk-agent.mjs");

interface Watched {
  readonly log: string;
  lines(): string[];
  /** Lets it go on with its step. */
  allow(number: number): void;
  says(line: string | RegExp, times?: number): Promise<unknown>;
}

function watchLog(): Watched {
  const log = join(makeFolder(), "log");
  const lines = () => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []);
  const matches = (line: string | RegExp) =>
    lines().filter((one) => (typeof line === "string" ? one === line : line.test(one)));
  return {
    log,
    lines,
    allow: (number) => writeFileSync(`${log}.${number}`, ""),
    says: (line, times = 1) =>
      until(`the agent says ${line}`, () => matches(line).length >= times).catch((error: unknown) => {
        throw new Error(`${error}; it said: ${lines().join(" | ")}`);
      }),
  };
}

/** Started by hand: it finds Rouse by the data folder alone. */
function startAgent(
  daemon: Daemon,
  mode: string,
  name = "a",
  environment: Readonly<Record<string, string>> = {},
  ...words: string[]
): Watched & { readonly process: Running } {
  const watched = watchLog();
  const process_ = startProgram(process.execPath, [program, mode, watched.log, ...words], {
    home: daemon.home,
    environment: { AGENT_NAME: name, ...environment },
  });
  return { ...watched, process: process_ };
}

/** Started by Rouse. */
async function spawnAgent(daemon: Daemon, mode: string, ...options: string[]): Promise<Watched> {
  const watched = watchLog();
  endHeldAfterwards(daemon.home);
  const words = ["spawn", "--name", "a", ...options, "--", process.execPath, program, mode, watched.log];
  expect(await daemon.cli(...words)).toMatchObject({ code: 0 });
  return watched;
}

const pidIn = (watched: Watched, nth = 0): number =>
  Number(
    watched
      .lines()
      .filter((line) => line.startsWith("began "))
      [nth]?.slice(6),
  );
const portOf = (daemon: Daemon): string => new URL(daemon.url).port;
const restart = (daemon: Daemon): Promise<Daemon> =>
  startDaemon({ home: daemon.home, args: ["--port", portOf(daemon)] });

describe("an agent whose Rouse takes its connection and never answers", () => {
  async function startBeforeSilence(mode: string): Promise<Watched & { readonly process: Running }> {
    const watched = watchLog();
    const silence = createServer(() => watched.allow(1));
    await once(silence.listen(0, "127.0.0.1"), "listening");
    afterwards(() => void silence.close());
    const environment = {
      AGENT_NAME: "a",
      ROUSE_URL: `http://127.0.0.1:${(silence.address() as AddressInfo).port}`,
      ROUSE_TOKEN: "t",
    };
    const words = [program, mode, watched.log, "task"];
    return { ...watched, process: startProgram(process.execPath, words, { home: makeFolder(), environment }) };
  }

  it("ends as soon as it has nothing to do, before the answer is given up", async () => {
    const agent = await startBeforeSilence("leave");
    expect(await agent.process.ended).toMatchObject({ code: 0, stderr: "" });
    expect(agent.lines().slice(1)).toEqual(["leaves"]);
  });

  it("does not end while its author waits for a checkpoint, which is kept on disk in the end", async () => {
    const agent = await startBeforeSilence("save");
    expect(await agent.process.ended).toMatchObject({ code: 0, stderr: "" });
    expect(agent.lines().at(-1)).toBe("queued");
  });
});

describe("an agent that was started by hand", () => {
  it("is known by its first word, and hears a nudge", async () => {
    const daemon = await startDaemon();
    const agent = startAgent(daemon, "stay");
    await agent.says(/^began/);
    // Nobody is nudged who was never heard.
    await until("it is heard", async () => (await daemon.rouse.getAgentHealth("a").catch(() => null))?.lastHeartbeat);
    expect((await daemon.rouse.getAllAgentHealth()).map(({ agentId }) => agentId)).toEqual(["a"]);
    expect(await daemon.rouse.sendNudge("a", "how far are you?")).toMatchObject({ channel: "acknowledgement" });
    await agent.says(/^nudged .*how far are you\?/);
    const [acted] = await until("its answer is there", async () => {
      const told = await daemon.events("NUDGE_ACTED");
      return told.length > 0 && told;
    });
    expect(acted?.payload).toMatchObject({ evidence: "answered: update" });
  });

  it("runs its breakers by the owner's settings, and by what its author wrote before those", async () => {
    const overrides =
      "{ tool_execution: { failure_threshold: 2 }, external_api: { failure_threshold: 2 }, checkpoint_write: { recovery_timeout_seconds: 7 } }";
    const config = `health_monitoring: { circuit_breaker: { overrides: ${overrides} } }\n`;
    const daemon = await startDaemon({ config });
    const agent = startAgent(daemon, "trips");
    await agent.says("tripped after 2");
    const own = startAgent(daemon, "trips", "own", { BREAKERS: '{"tool_execution":{"failureThreshold":4}}' });
    await own.says("tripped after 4");
    expect(await daemon.rouse.breakerRules("a")).toEqual({
      default: { failure_threshold: 3, recovery_timeout_seconds: 60, half_open_requests: 1 },
      overrides: {
        tool_execution: { failure_threshold: 2, recovery_timeout_seconds: 30 },
        external_api: { failure_threshold: 2 },
        checkpoint_write: { failure_threshold: 3, recovery_timeout_seconds: 7 },
      },
    });
    await expect(daemon.rouse.breakerRules("nobody")).rejects.toMatchObject({ code: "agent-unknown" });
    await until("Rouse hears of it", async () =>
      (await daemon.rouse.getAllCircuitBreakers()).some(
        ({ name, state, source }) => name === "a/tool_execution" && state === "OPEN" && source === "agent",
      ),
    );
  });

  it("is not disturbed by the death of Rouse: what it did meanwhile comes later, once and in order", async () => {
    let daemon = await startDaemon();
    const agent = startAgent(daemon, "steps");
    agent.allow(1);
    await agent.says("counted 1");
    await until(
      "it is heard",
      async () => (await daemon.rouse.steps("a").catch(() => ({ steps: [] }))).steps.length === 2,
    );
    await daemon.end("SIGKILL");
    agent.allow(2);
    agent.allow(3);
    await agent.says("counted 3");
    daemon = await restart(daemon);
    const { steps } = await until("the rest is heard", async () => {
      const page = await daemon.rouse.steps("a");
      return page.steps.length >= 6 && page;
    });
    expect(steps.map(({ kind, id }) => [kind, id])).toEqual(
      ["1", "2", "3"].flatMap((id) => [
        ["tool_call", id],
        ["tool_result", id],
      ]),
    );
    await until("it beats again", async () => (await daemon.rouse.getAgentHealth("a")).metrics.toolCallCount === 3);
    expect(agent.lines().filter((line) => line.startsWith("warning"))).toHaveLength(
      agent.lines().some((line) => line.includes("cannot be reached")) ? 1 : 0,
    );
    expect(await daemon.events("AGENT_INCARNATION_STARTED")).toEqual([]);
  });

  it("is replaced by a second process of its name: the older is told once, and beats no more", async () => {
    const daemon = await startDaemon();
    const older = startAgent(daemon, "replaced");
    await until("it is heard", async () => (await daemon.rouse.getAgentHealth("a").catch(() => null))?.lastHeartbeat);
    const newer = startAgent(daemon, "replaced");
    await older.says("stop replaced");
    await older.says("connection replaced");
    expect(older.lines().filter((line) => line.startsWith("warning"))).toEqual([
      expect.stringContaining("a later life of it has begun"),
    ]);
    const { incarnation } = await daemon.rouse.getAgentHealth("a");
    expect(incarnation).toBe(2);
    const refused = await daemon.events("HEARTBEAT_REFUSED");
    expect(refused).toHaveLength(1);
    expect(newer.lines().filter((line) => !line.startsWith("began"))).toEqual([]);
  });

  it("is heard again after it was stopped in its tracks for a while", async () => {
    const daemon = await startDaemon({ config: quickBeats });
    const agent = startAgent(daemon, "stay");
    await until("it is heard", async () => (await daemon.rouse.getAgentHealth("a").catch(() => null))?.lastHeartbeat);
    agent.process.child.kill("SIGSTOP");
    await until("it is missed", async () => (await daemon.rouse.getAgentHealth("a")).state !== "HEALTHY");
    agent.process.child.kill("SIGCONT");
    await until("it is well again", async () => (await daemon.rouse.getAgentHealth("a")).state === "HEALTHY");
    expect(await daemon.rouse.getAgentHealth("a")).toMatchObject({ incarnation: 1 });
    expect(await daemon.events("HEARTBEATS_LOST")).toEqual([]);
  });

  it("saves what it has when it is told to end, and then ends by that signal", async () => {
    const daemon = await startDaemon();
    const agent = startAgent(daemon, "stop", "a", {}, "task-1");
    await agent.says("ready");
    await until("it is heard", async () => (await daemon.rouse.getAgentHealth("a").catch(() => null))?.lastHeartbeat);
    agent.process.child.kill("SIGTERM");
    expect(await agent.process.ended).toMatchObject({ code: null, signal: "SIGTERM" });
    expect(agent.lines()).toContain("saved on signal");
    const [newest] = await daemon.rouse.checkpoints("task-1");
    expect(newest).toMatchObject({ step: 1, stepName: "on the way out" });
  });
});

describe("an agent that Rouse started", () => {
  it("speaks alone: a program that it starts and that inherits its name sends no beats", async () => {
    const daemon = await startDaemon();
    const agent = await spawnAgent(daemon, "parent");
    const child = { log: `${agent.log}.child` };
    await until(
      "the child has begun",
      () => existsSync(child.log) && readFileSync(child.log, "utf8").includes("warning"),
    );
    expect(readFileSync(child.log, "utf8")).toContain(`process ${pidIn(agent)} speaks for a already`);
    const before = (await daemon.rouse.getAgentHealth("a")).lastHeartbeat;
    await until("it beats on", async () => (await daemon.rouse.getAgentHealth("a")).lastHeartbeat !== before);
    const why = await daemon.cli("why", "a");
    expect(why.stdout).toMatch(/duplicates 0 · stale 0 · refused 0 · lost 0/);
    expect(agent.lines().filter((line) => line.startsWith("warning"))).toEqual([]);
  });

  it("two programs side by side in one terminal: the older is told, and the numbers go on", async () => {
    const daemon = await startDaemon();
    const [older, newer] = [watchLog(), watchLog()];
    endHeldAfterwards(daemon.home);
    const script = `"$0" "$1" replaced "$2" & while [ ! -e "$3.go" ]; do sleep 0.1; done; "$0" "$1" replaced "$3"`;
    await daemon.cli("spawn", "--name", "a", "--", "sh", "-c", script, process.execPath, program, older.log, newer.log);
    await until("it is heard", async () => (await daemon.rouse.getAgentHealth("a").catch(() => null))?.lastHeartbeat);
    writeFileSync(`${newer.log}.go`, "");
    await older.says("stop replaced");
    expect(older.lines().filter((line) => line.startsWith("warning"))).toEqual([
      expect.stringContaining("another process speaks for it since"),
    ]);
    const before = (await daemon.rouse.getAgentHealth("a")).lastHeartbeat;
    await until("the newer beats", async () => (await daemon.rouse.getAgentHealth("a")).lastHeartbeat !== before);
    expect(newer.lines()).toEqual([expect.stringContaining("began")]);
    expect(await daemon.events("HEARTBEATS_LOST", "HEARTBEAT_REFUSED")).toEqual([]);
  });

  it("goes on after its last step when it is killed, and each step is done once", async () => {
    const daemon = await startDaemon();
    const agent = await spawnAgent(daemon, "work", "--task", "task-2", "--restart", "on-failure:3");
    agent.allow(1);
    await agent.says("write begins task-2/2/write false");
    process.kill(pidIn(agent), "SIGKILL");
    await agent.says("write begins task-2/2/write true");
    agent.allow(2);
    agent.allow(3);
    await agent.says("done plan,write,check 1");
    expect(agent.lines().filter((line) => line.endsWith("ends"))).toEqual(["plan ends", "write ends", "check ends"]);
    await until("it has finished", async () => (await daemon.rouse.getAgentHealth("a")).over?.how === "finished");
  });

  it("keeps checkpoints on disk that Rouse could not take, and its next life goes on after them", async () => {
    let daemon = await startDaemon();
    const agent = await spawnAgent(daemon, "work", "--task", "task-3", "--restart", "on-failure:3");
    await agent.says(/^plan begins/);
    await until(
      "its beginning is saved",
      async () => (await daemon.rouse.checkpoints("task-3").catch(() => [])).length === 1,
    );
    await daemon.end("SIGKILL");
    agent.allow(1);
    await agent.says("write begins task-3/2/write false");
    const spooled = join(daemon.home, "unsent", "a", "task-3");
    expect(existsSync(spooled)).toBe(true);
    process.kill(pidIn(agent), "SIGKILL");
    daemon = await restart(daemon);
    await agent.says("write begins task-3/2/write true");
    expect(agent.lines().filter((line) => line === "plan ends")).toHaveLength(1);
    agent.allow(2);
    agent.allow(3);
    await agent.says(/^done plan,write,check/);
    const heads = await daemon.rouse.checkpoints("task-3");
    expect(heads.map(({ step }) => step)).toEqual([3, 2, 1, 0]);
    expect((await daemon.rouse.verifyCheckpoints("task-3")).sound).toBe(true);
  });
});
