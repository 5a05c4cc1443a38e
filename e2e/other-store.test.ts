import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { agentTokenPrefix } from "../packages/daemon/src/home/agent-token.ts";
import { createFrameReader, jsonFrame } from "../packages/holder/src/protocol/frames.ts";
import { holderFiles, readSecret, readStore } from "../packages/holder/src/protocol/holder-files.ts";
import type { HolderFile } from "../packages/holder/src/protocol/spec.ts";
import { cleanUp, makeFolder } from "./clean-up.ts";
import { agentLives, holderOf, spawnAgent } from "./held-agents.ts";
import { runRouse } from "./run-rouse.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

afterEach(cleanUp);

const config = "health_monitoring: { mode: assist }\n";
const counting = ["sh", "-c", 'i=0; while :; do i=$((i+1)); echo "line $i"; sleep 1; done'];

const isHeld = (daemon: Daemon, name: string) =>
  until(`${name} is held`, async () =>
    (await daemon.rouse.getAllAgentHealth()).some(
      ({ agentId, terminal }) => agentId === name && terminal?.holder === "here",
    ),
  );
const isDegraded = (daemon: Daemon, name: string) =>
  until(`${name} is degraded`, async () =>
    (await daemon.rouse.getAllAgentHealth()).some(({ agentId, state }) => agentId === name && state === "DEGRADED"),
  );

function replaceDatabase(home: string): void {
  expect(existsSync(join(home, "rouse.db"))).toBe(true);
  for (const ending of ["", "-wal", "-shm"]) rmSync(join(home, `rouse.db${ending}`), { force: true });
}

/** Everything that comes back for these messages, until the holder hangs up or has said as much as is waited for. */
async function tell({ socket: path }: HolderFile, messages: readonly object[], answers: number): Promise<unknown[]> {
  const socket = connect(path);
  await once(socket, "connect");
  const heard: unknown[] = [];
  socket.on(
    "data",
    createFrameReader((frame) => heard.push(frame)),
  );
  socket.on("error", () => undefined);
  for (const message of messages) socket.write(jsonFrame(message));
  await until("it has answered", () => heard.length >= answers || socket.destroyed);
  socket.destroy();
  return heard;
}

const diesWithin = async (daemon: Daemon, file: HolderFile, deadline: number) => {
  if (file.agent !== null) process.kill(file.agent.pid, "SIGKILL");
  const died = performance.now();
  const [exit] = await until(
    "its end is known",
    async () => {
      const exits = await daemon.events("PROCESS_EXITED");
      return exits.length > 0 && exits;
    },
    deadline,
  );
  console.info(`the end was known after ${Math.round(performance.now() - died)} ms`);
  return exit;
};

describe("an agent whose database was replaced", () => {
  it("is shown and told of, takes no orders, and is taken over by `rouse adopt`", async () => {
    const home = `${makeFolder()}/home`;
    const first = await startDaemon({ home, config });
    const file = await spawnAgent(home, "keeper", counting);
    await isHeld(first, "keeper");
    expect(holderOf(home, "keeper").store).toBe(readStore(home)?.store);
    await first.end("SIGTERM");
    replaceDatabase(home);

    const daemon = await startDaemon({ home, config });
    await isDegraded(daemon, "keeper");
    expect(holderOf(home, "keeper").store).not.toBe(readStore(home)?.store);
    const { cli } = daemon;
    expect((await cli("why", "keeper")).stdout).toMatch(/belongs to another database/);
    expect(await daemon.events("HOLDER_LOST")).toMatchObject([
      { payload: { process: "alive", because: "other-store" } },
    ]);
    await until("somebody is alerted", async () => (await daemon.events("ALERT_RAISED")).length > 0);
    expect(await daemon.rouse.terminateAgent("keeper")).toMatchObject({ outcome: "refused", because: "other-store" });
    expect(agentLives(file)).toBe(true);
    const doctor = await cli("doctor");
    expect(doctor.stdout).toMatch(/keeper: started for another database/);
    expect(doctor.stdout).toMatch(/`rouse adopt keeper`/);
    expect(doctor.code).toBe(1);

    const byAgent = await runRouse(["adopt", "--all"], { home, environment: { ROUSE_TOKEN: `${agentTokenPrefix}x` } });
    expect(byAgent).toMatchObject({ code: 4, stderr: expect.stringContaining("handed over by their owner") });
    expect((await cli("adopt")).stderr).toContain("name the agents, or say --all");
    const adopted = await cli("adopt", "--all");
    expect(adopted).toMatchObject({ code: 0, stdout: expect.stringContaining("keeper is taken over") });
    await isHeld(daemon, "keeper");
    await until("it is well", async () => (await daemon.rouse.getAgentHealth("keeper")).state === "HEALTHY");
    expect((await cli("adopt", "keeper")).stdout).toContain("listens to this Rouse already");
    expect((await cli("doctor")).stdout).toMatch(/held agents +ok +1, all reachable/);
    expect(holderOf(home, "keeper")).toMatchObject({ agent: file.agent, holder: file.holder });
    expect(await daemon.rouse.terminateAgent("keeper")).toMatchObject({ outcome: "stopped" });
    expect(agentLives(file)).toBe(false);
  });

  it("and whose process dies before it is taken over, is known to be gone, and how it ended", async () => {
    const home = `${makeFolder()}/home`;
    const first = await startDaemon({ home, config });
    const file = await spawnAgent(home, "mortal", counting);
    await isHeld(first, "mortal");
    await first.end("SIGTERM");
    replaceDatabase(home);
    const daemon = await startDaemon({ home, config });
    await isDegraded(daemon, "mortal");
    expect(await diesWithin(daemon, file, 20_000)).toMatchObject({ payload: { agentId: "mortal", signal: "SIGKILL" } });
    // It was to run once, which its owner said to its holder and not to this database.
    expect((await daemon.rouse.getAgentHealth("mortal")).over).toMatchObject({ how: "exited", signal: "SIGKILL" });
  });
});

describe("somebody at a holder's socket", () => {
  it("who does not know its secret is refused, and raises nothing", async () => {
    const daemon = await startDaemon({ config });
    const file = await spawnAgent(daemon.home, "target", counting);
    await isHeld(daemon, "target");
    const refused = [{ kind: "json", value: { say: "refused", because: "wrong-secret" } }];
    const stop = { say: "order", key: "k", incarnation: 1, epoch: null, order: { kind: "stop", graceMs: 0 } };
    for (const line of [{ say: "watch", epoch: 999_999, after: 0 }, stop, { say: "read", from: 0, follow: false }])
      expect(await tell(file, [line, line], 2)).toEqual(refused);
    expect(agentLives(file)).toBe(true);
    expect(await daemon.events("HOLDER_LOST")).toEqual([]);
    expect(await daemon.rouse.terminateAgent("target")).toMatchObject({ outcome: "stopped" });
  });

  it("who has read it and locks the monitor out, is noticed, hides no end, and can be put right", async () => {
    const daemon = await startDaemon({ config });
    const { home } = daemon;
    const file = await spawnAgent(home, "target", counting);
    await isHeld(daemon, "target");
    const secret = readSecret(holderFiles(home, "target").secret);
    const { store = "", epoch = 0 } = readStore(home) ?? {};
    const hello = (leap: number) => ({ say: "hello", secret, monitor: { store, epoch: epoch + leap } });
    const watch = (leap: number) => ({ say: "watch", epoch: epoch + leap, after: 0 });
    expect(await tell(file, [hello(1_000_000)], 1)).toMatchObject([
      { value: { say: "refused", because: "epoch-too-high" } },
    ]);
    expect(await daemon.events("HOLDER_LOST")).toEqual([]);
    const lockOut = () => tell(file, [hello(9000), watch(9000)], 2);
    await lockOut();
    await isDegraded(daemon, "target");
    expect(await daemon.events("HOLDER_LOST")).toMatchObject([{ payload: { because: "old-epoch" } }]);
    expect((await daemon.cli("doctor")).stdout).toMatch(/target: obeys a newer monitor/);
    expect((await daemon.cli("adopt", "target")).code).toBe(0);
    await isHeld(daemon, "target");
    await lockOut();
    await isDegraded(daemon, "target");
    expect(await diesWithin(daemon, file, 20_000)).toMatchObject({ payload: { agentId: "target", signal: "SIGKILL" } });
  });
});

describe("a beat with the owner's token and another incarnation", () => {
  it("does not take a held agent away from its holder", async () => {
    const daemon = await startDaemon({ config });
    const file = await spawnAgent(daemon.home, "held", counting);
    await isHeld(daemon, "held");
    const post = (path: string, body: object) =>
      fetch(`${daemon.url}/api/v1/${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${daemon.token}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const beat = await post("heartbeats", { agentId: "held", incarnation: 99 });
    expect(beat.status).toBe(409);
    expect(await beat.json()).toMatchObject({ status: "rejected", because: "held" });
    const registration = await post("agents", { agentId: "held", incarnation: 99 });
    expect(registration.status).toBe(400);
    expect(await registration.text()).toContain("cannot begin while a holder keeps its process");
    expect(await daemon.rouse.getAgentHealth("held")).toMatchObject({ terminal: { holder: "here" } });
    expect(await daemon.rouse.terminateAgent("held")).toMatchObject({ outcome: "stopped" });
    expect(agentLives(file)).toBe(false);
  });
});
