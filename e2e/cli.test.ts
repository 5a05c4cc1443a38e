import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { afterwards, cleanUp, makeFolder } from "./clean-up.ts";
import { type Ended, runRouse, startRouse } from "./run-rouse.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

/** Clears the screen, sets the title, and turns text around. */
const nasty = "\u001b[2J\u001b]0;owned\u0007\u009b31m\u202eevil\r\n";
// biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these would act on a terminal
const actsOnATerminal = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

let daemon: Daemon;

beforeAll(async () => {
  daemon = await startDaemon();
  const { rouse } = daemon;
  await rouse.recordHeartbeat({
    agentId: "worker",
    taskId: "task-7",
    node: "node-1",
    status: "RUNNING",
    sequenceNumber: 1,
    open: { kind: "tool", name: `npm-test${nasty}` },
    progressIndicator: nasty,
    phase: nasty,
    lastToolCall: nasty,
    lastCheckpoint: nasty,
    healthMetrics: { [nasty]: nasty },
  });
  await rouse.recordHeartbeat({ agentId: "idler", status: "IDLE" });
  await rouse.recordHeartbeat({ agentId: "breaking", healthMetrics: { consecutiveFailures: 9 } });
  await rouse.freeze({ actor: nasty, reason: nasty });
  await rouse.thaw();
});

afterAll(cleanUp);

async function succeeds(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await daemon.cli(...words);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

function expectOneSentence({ stdout, stderr }: Ended): void {
  expect(stdout).toBe("");
  expect(stderr).toMatch(/^rouse: [^\n]+\n$/);
}

describe("a command that reads", () => {
  it("ps lists who is there and what they do", async () => {
    const lines = (await succeeds("ps")).trimEnd().split("\n");
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(/^AGENT +STATE +ACTIVITY .*HEARD +TASK/);
    expect(lines.find((line) => line.startsWith("worker"))).toMatch(/HEALTHY +RUNNING tool npm-test.*task-7.*node-1/);
    expect(lines.find((line) => line.startsWith("idler"))).toMatch(/HEALTHY +IDLE/);
    expect(lines.find((line) => line.startsWith("breaking"))).toMatch(/FAILING/);
  });

  it("health ends with 0 for a healthy agent, 1 for an ill one and 5 for an unknown one", async () => {
    expect(await succeeds("health", "worker")).toContain("healthy");
    const ill = await daemon.cli("health", "breaking");
    expect(ill).toMatchObject({ code: 1, stdout: expect.stringContaining("9 failures in a row"), stderr: "" });
    const unknown = await daemon.cli("health", "nobody");
    expect(unknown.code).toBe(5);
    expectOneSentence(unknown);
  });

  it("health without an agent sums up, and can leave out the healthy", async () => {
    expect(await succeeds("health")).toMatch(/3 agents.*breaking.*worker/s);
    const unhealthy = await succeeds("health", "--filter", "unhealthy");
    expect(unhealthy).toContain("breaking");
    expect(unhealthy).not.toContain("worker");
  });

  it("why gives the verdict, its grounds, the policy and the last events", async () => {
    const text = await succeeds("why", "breaking");
    for (const part of ["is FAILING", "consecutive-failures", "Clocks", "accepted 1", "default@", "AGENT_REGISTERED"]) {
      expect(text).toContain(part);
    }
    expect((await daemon.cli("why", "nobody")).code).toBe(5);
  });

  it("events tells what happened, the newest last, filtered if asked", async () => {
    const all = (await succeeds("events")).trimEnd().split("\n");
    expect(all[0]).toContain("MONITOR_STARTED");
    expect(all.at(-1)).toContain("MONITOR_THAWED");
    const some = await succeeds("events", "--agent", "idler", "--types", "agent_registered");
    expect(some.trimEnd().split("\n")).toEqual([expect.stringContaining("AGENT_REGISTERED  idler")]);
    expect((await succeeds("events", "--agent", "idler", "--types", "agent_held")).trim()).toBe("No events.");
  });

  it("events shows the last few with -n or --tail, as logs does, and none with -n 0", async () => {
    const newest = (await succeeds("events")).trimEnd().split("\n").slice(-2);
    for (const words of [
      ["-n", "2"],
      ["--tail", "2"],
      ["--limit", "2"],
    ])
      expect((await succeeds("events", ...words)).trimEnd().split("\n")).toEqual(newest);
    expect(await succeeds("events", "-n", "0")).toBe("");
    expect((await daemon.cli("events", "-n", "many")).code).toBe(2);
  });

  it("events of an agent that nobody knows ends with 5 and the name that was meant", async () => {
    for (const more of [[], ["--json"], ["--types", "AGENT_REGISTERED"]]) {
      const unknown = await daemon.cli("events", "--agent", "idlr", ...more);
      expect(unknown).toMatchObject({ code: 5, stderr: expect.stringContaining("did you mean idler?") });
      expectOneSentence(unknown);
    }
  });

  it("events of an agent that was removed are shown, and no slip when none of a type are there", async () => {
    await daemon.rouse.recordHeartbeat({ agentId: "leaver", status: "FINISHED" });
    expect((await daemon.cli("rm", "leaver")).code).toBe(0);
    expect((await daemon.cli("health", "leaver")).code).toBe(5);
    expect(await succeeds("events", "--agent", "leaver")).toContain("AGENT_REMOVED");
    expect((await succeeds("events", "--agent", "leaver", "--types", "agent_held")).trim()).toBe("No events.");
  });

  it("events --follow goes on with what happens, beats too when they are named, until Ctrl-C", async () => {
    const { home } = daemon;
    const following = startRouse(["events", "-f", "--agent", "newcomer", "--types", "AGENT_REGISTERED"], { home });
    const beats = startRouse(["events", "-f", "--types", "AGENT_HEARTBEAT", "--json"], { home });
    await until("the beats are shown", async () => {
      await daemon.rouse.recordHeartbeat({ agentId: "newcomer", progressIndicator: nasty });
      return beats.stdout().includes("newcomer") && following.stdout().includes("newcomer");
    });
    expect(beats.stdout() + following.stdout().replaceAll("\n", "")).not.toMatch(actsOnATerminal);
    for (const line of beats.stdout().trimEnd().split("\n")) expect(JSON.parse(line).type).toBe("AGENT_HEARTBEAT");
    for (const running of [following, beats]) {
      running.child.kill("SIGINT");
      expect(await running.ended).toMatchObject({ code: 130, stderr: "" });
    }
  });

  it("doctor looks at everything and finds nothing to complain about", async () => {
    const { ok, checks } = JSON.parse(await succeeds("doctor", "--json"));
    expect(ok).toBe(true);
    expect(checks.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining([
        "node",
        "memory",
        "clock",
        "data folder",
        "disk",
        "store",
        "token",
        "config",
        "daemon",
        "port",
      ]),
    );
    expect(await succeeds("doctor")).toMatch(/daemon +ok +version/);
  });

  it("prints one JSON document with --json, the same as the API gives", async () => {
    const read = async (...words: string[]) => JSON.parse((await daemon.cli(...words, "--json")).stdout);
    const ids = (agents: { agentId: string }[]) => agents.map(({ agentId }) => agentId);
    expect(ids((await read("ps")).agents)).toEqual(ids(await daemon.rouse.getAllAgentHealth()));
    expect(await read("health", "breaking")).toMatchObject({ agent: "breaking", status: "failing", state: "FAILING" });
    expect((await read("health")).status).toMatchObject({ total_agents: expect.any(Number) });
    expect((await read("why", "worker")).agent.activity.open.name).toBe(`npm-test${nasty}`);
    expect((await read("events", "--limit", "2")).events).toHaveLength(2);
    expect(await read("config", "check")).toMatchObject({ ok: true, preset: "default" });
    expect(await read("config", "print")).toMatchObject({ settings: { heartbeat: { interval_seconds: 300 } } });
    expect(await read("config", "schema")).toMatchObject({ properties: { health_monitoring: expect.anything() } });
  });
});

describe("text that an agent chose", () => {
  it.each([
    "ps",
    "ps --json",
    "health",
    "health worker",
    "health worker --json",
    "why worker",
    "why worker --json",
    "events",
    "events --json",
  ])("is printed harmlessly by rouse %s", async (words) => {
    const text = await succeeds(...words.split(" "));
    expect(text).toMatch(/worker/);
    expect(text).not.toMatch(actsOnATerminal);
  });
});

describe("the configuration", () => {
  it("is checked, printed with every setting explained, and described for editors", async () => {
    expect(await succeeds("config", "check")).toContain("The configuration is fine.");
    expect(await succeeds("config", "print")).toMatch(/interval_seconds: 300 +# /);
    expect(JSON.parse(await succeeds("config", "schema"))).toHaveProperty("properties.preset");
  });

  it("that has mistakes is told whole, with exit code 2", async () => {
    const file = join(makeFolder(), "draft.yaml");
    writeFileSync(file, "preset: flet\nhealth_monitoring: { mode: maybe, hartbeat: {} }\n");
    const { code, stdout } = await daemon.cli("config", "check", file);
    expect(code).toBe(2);
    for (const hint of ["draft.yaml:1", "fleet", "maybe", "did you mean heartbeat"]) expect(stdout).toContain(hint);
    const json = await daemon.cli("config", "check", file, "--json");
    expect(json.code).toBe(2);
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, problems: { length: 3 } });
    const missing = await daemon.cli("config", "print", "--config", `${file}.not`);
    expect(missing.code).toBe(2);
    expectOneSentence(missing);
  });

  it("that was printed can be used again", async () => {
    const file = join(makeFolder(), "printed.yaml");
    writeFileSync(file, await succeeds("config", "print"));
    expect(await succeeds("config", "check", file)).toContain("The configuration is fine.");
  });
});

describe("a command that cannot do its work", () => {
  it.each(["ps", "health", "why worker", "events", "events -f", "freeze", "thaw"])(
    "says in one sentence that no Rouse is running, with exit code 3: rouse %s",
    async (words) => {
      const home = join(makeFolder(), "home");
      const end = await runRouse(words.split(" "), { home });
      expect(end.code).toBe(3);
      expectOneSentence(end);
      expect(end.stderr).toContain("rouse up");
    },
  );

  it("says the same of a Rouse that was killed, and tells whoever has its port nothing", async () => {
    const killed = await startDaemon();
    await killed.end("SIGKILL");
    const heard: unknown[] = [];
    const stranger = createServer((socket) => heard.push(socket.destroy()));
    afterwards(() => void stranger.close());
    await new Promise<void>((resolve) => stranger.listen(Number(new URL(killed.url).port), "127.0.0.1", resolve));
    const end = await killed.cli("ps");
    expect(end.code).toBe(3);
    expectOneSentence(end);
    const doctor = await killed.cli("doctor");
    expect(heard).toEqual([]);
    expect(doctor).toMatchObject({ code: 1, stdout: expect.stringContaining("did not say goodbye") });
  });

  it("says that the token is wrong, with exit code 4, and does not show it", async () => {
    const environment = { ROUSE_URL: daemon.url, ROUSE_TOKEN: "not-the-token-at-all" };
    const end = await runRouse(["ps"], { home: daemon.home, environment });
    expect(end.code).toBe(4);
    expect(end.stderr).toMatch(/^rouse: .*token/);
    expect(end.stderr).not.toContain("not-the-token-at-all");
  });

  it("does not send the token over the network in the clear", async () => {
    const end = await runRouse(["ps"], { home: daemon.home, environment: { ROUSE_URL: "http://192.0.2.7:7433" } });
    expect(end.code).toBe(2);
    expectOneSentence(end);
  });

  it("says how it is used, with exit code 2", async () => {
    for (const words of [["pss"], ["why"], ["health", "--filter", "purple"], ["events", "--types", "NOTHING"]]) {
      expect(await daemon.cli(...words)).toMatchObject({ code: 2, stderr: expect.stringMatching(/^rouse: /) });
    }
    expect((await daemon.cli("--help")).stdout).toContain("Exit codes:");
  });

  it("ends quietly when nobody reads what it prints", async () => {
    const running = startRouse(["events", "-f", "--types", "AGENT_HEARTBEAT"], { home: daemon.home });
    afterwards(() => void running.child.kill("SIGKILL"));
    running.child.stdout.destroy();
    let over = false;
    void running.ended.then(() => {
      over = true;
    });
    await until("it noticed", async () => {
      await daemon.rouse.recordHeartbeat({ agentId: "talker" });
      return over;
    });
    expect(await running.ended).toMatchObject({ code: 0, stderr: "" });
  });
});
