import { existsSync } from "node:fs";
import { join } from "node:path";
import type { AgentHealth } from "@rouse/contract";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { agentOnce, forever, isOver, sh } from "./agent-once.ts";
import { cleanUp } from "./clean-up.ts";
import { spawnAgent } from "./held-agents.ts";
import { openRouse } from "./open-terminal.ts";
import { runRouse, startRouse } from "./run-rouse.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

let daemon: Daemon;
beforeEach(async () => {
  daemon = await startDaemon();
});
afterEach(cleanUp);

const cli = (...words: string[]) => daemon.cli(...words);

async function succeeds(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli(...words);
  expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: "" });
  return stdout;
}

/** One that finished, one that exited in a person's terminal, one that was terminated, one that lives. */
async function fourEnds(): Promise<void> {
  await spawnAgent(daemon.home, "done", sh("exit 0"));
  await spawnAgent(daemon.home, "stopped", sh(forever));
  await spawnAgent(daemon.home, "alive", sh(forever));
  expect((await runRouse(["run", "--name", "broken", "--", ...sh("exit 7")], daemon)).code).toBe(7);
  expect((await cli("terminate", "stopped")).code).toBe(0);
  for (const name of ["done", "broken", "stopped"])
    await agentOnce(daemon, name, "is over", ({ over }) => over !== null);
}

describe("agents that are over", () => {
  it("say in every place how they ended, and never that they run", async () => {
    await fourEnds();
    const all = await succeeds("ps", "--all");
    expect(all).toMatch(/^done +FINISHED +–/m);
    expect(all).toMatch(/^broken +exited 7 +–/m);
    expect(all).toMatch(/^stopped +TERMINATED +–/m);
    expect(await succeeds("health", "done")).toMatch(/^status +finished$/m);
    expect(await cli("health", "broken")).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^state +exited 7$/m),
    });
    expect(await succeeds("why", "broken")).toMatch(/^broken exited 7 since /);
    const agents = await daemon.rouse.getAllAgentHealth();
    expect(
      Object.fromEntries(agents.map(({ agentId, over, activity }) => [agentId, [over?.how, activity.kind]])),
    ).toEqual({
      done: ["finished", "FINISHED"],
      broken: ["exited", "EXITED"],
      stopped: ["terminated", "EXITED"],
      alive: [undefined, expect.stringMatching(/STARTING|RUNNING/)],
    });
    expect(await daemon.rouse.status()).toMatchObject({
      total_agents: 4,
      agents_by_state: { HEALTHY: 1, TERMINATED: 1 },
      agents_over: { finished: 1, exited: 1, terminated: 1 },
    });
  });

  it("are left out of the list, which says so, unless they are asked for", async () => {
    await fourEnds();
    const [title, ...rows] = (await succeeds("ps")).trimEnd().split("\n");
    expect(title).toMatch(/^AGENT/);
    expect(rows).toHaveLength(2);
    expect(rows[0]).toMatch(/^alive +HEALTHY/);
    expect(rows[1]).toMatch(/^3 are over: .*1 exited 7.*; `rouse ps --all` shows them$/);
    expect(JSON.parse(await succeeds("ps", "--json"))).toMatchObject({ agents: [{ agentId: "alive" }], hidden: 3 });
    const { agents } = JSON.parse(await succeeds("ps", "--all", "--json")) as { agents: AgentHealth[] };
    expect(Object.fromEntries(agents.map(({ agentId, state }) => [agentId, state]))).toEqual({
      alive: "HEALTHY",
      done: "FINISHED",
      broken: "EXITED",
      stopped: "TERMINATED",
    });
    expect((await succeeds("list", "--state", "finished")).split("\n")[1]).toMatch(/^done +FINISHED/);
    expect(await cli("ps", "--state", "FINISHD")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("did you mean FINISHED?"),
    });
  });

  it("can be taken out of the list, and do not come back when the monitor does", async () => {
    await fourEnds();
    expect(await cli("rm", "alive")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: "rouse: alive is running; `rouse terminate alive` ends it first\n",
    });
    const some = await cli("rm", "done", "brokn", "broken");
    expect(some).toMatchObject({ code: 5, stdout: "done and broken are removed.\n" });
    expect(some.stderr).toBe("rouse: no agent brokn is known; did you mean broken?\n");
    expect(existsSync(join(daemon.home, "holders", "done"))).toBe(false);
    // Whose holder leaves first is removed first.
    const gone = (await daemon.events("AGENT_REMOVED")).map(({ payload }) => payload);
    expect(gone).toContainEqual(expect.objectContaining({ agentId: "done", actor: "owner" }));
    expect(gone.map((payload) => "agentId" in payload && payload.agentId).sort()).toEqual(["broken", "done"]);
    expect(await succeeds("audit", "list")).toMatch(
      /order-refused +alive +runs.*owner .*order-remove +done .*owner +agent-removed +done /s,
    );
    expect((await succeeds("events", "--agent", "done")).split("\n").length).toBeGreaterThan(2);
    await daemon.end("SIGKILL");
    daemon = await startDaemon({ home: daemon.home });
    await agentOnce(daemon, "alive", "is held again", ({ terminal }) => terminal?.holder === "here");
    expect((await daemon.rouse.getAllAgentHealth()).map(({ agentId }) => agentId).sort()).toEqual(["alive", "stopped"]);
    await spawnAgent(daemon.home, "done", sh(forever));
    // The token of its first life does not speak for this one.
    expect(await daemon.rouse.getAgentHealth("done")).toMatchObject({ incarnation: 2, over: null });
  });

  it("are pruned by age, after a look at what would go", async () => {
    await fourEnds();
    expect(await succeeds("prune", "--older-than", "7d")).toBe("Nothing to remove.\n");
    expect(await succeeds("prune", "--dry-run")).toMatch(/^3 agents would be removed:\nAGENT +STATE +SINCE\n/);
    expect((await daemon.rouse.getAllAgentHealth()).length).toBe(4);
    const { removed, refused } = JSON.parse(await succeeds("prune", "--json"));
    expect(removed.map(({ agentId }: { agentId: string }) => agentId).sort()).toEqual(["broken", "done", "stopped"]);
    expect(refused).toEqual([]);
    expect((await daemon.rouse.getAllAgentHealth()).map(({ agentId }) => agentId)).toEqual(["alive"]);
  });

  it("are new when they beat again after they were removed", async () => {
    const { rouse } = daemon;
    await rouse.recordHeartbeat({ agentId: "beater", incarnation: 5, sequenceNumber: 9, status: "FINISHED" });
    expect(await rouse.removeAgent("beater", { actor: "ada", reason: "done with it" })).toMatchObject({
      incarnation: 5,
      over: { how: "finished" },
    });
    await expect(rouse.removeAgent("beater")).rejects.toMatchObject({ code: "agent-unknown" });
    expect(await rouse.recordHeartbeat({ agentId: "beater", sequenceNumber: 1 })).toMatchObject({ status: "accepted" });
    expect(await rouse.getAgentHealth("beater")).toMatchObject({ incarnation: 6, over: null });
    await expect(rouse.removeAgent("beater")).rejects.toMatchObject({ code: "order-refused" });
    expect((await daemon.events("AGENT_REGISTERED")).length).toBe(2);
  });
});

describe("rouse ps --watch", () => {
  it("prints a block for each change in a pipe, and ends with 0 on Ctrl-C", async () => {
    const watching = startRouse(["ps", "-w"], daemon);
    await until("it has looked", () => watching.stdout().includes("No agents yet"));
    await daemon.rouse.recordHeartbeat({ agentId: "worker", status: "RUNNING" });
    await until("it shows the newcomer", () => /worker +HEALTHY +RUNNING/.test(watching.stdout()));
    // No saved event tells of this one.
    await daemon.rouse.recordHeartbeat({ agentId: "worker", status: "IDLE" });
    await until("it shows what it does now", () => /worker +HEALTHY +IDLE/.test(watching.stdout()));
    await daemon.rouse.freeze({ reason: "lunch" });
    await until("it shows the freeze", () => /FROZEN for \d+ s .*: lunch/.test(watching.stdout()));
    watching.child.kill("SIGINT");
    expect(await watching.ended).toMatchObject({ code: 0, stderr: "" });
    expect(watching.stdout().split("\n\n").length).toBe(4);
  });

  it("prints a line of JSON for each change when asked", async () => {
    const watching = startRouse(["ps", "-w", "--json"], daemon);
    await until("it has looked", () => watching.stdout().includes("\n"));
    await daemon.rouse.recordHeartbeat({ agentId: "worker" });
    await until("it shows the newcomer", () => watching.stdout().split("\n").length === 3);
    const [, line = ""] = watching.stdout().split("\n");
    expect(JSON.parse(line)).toMatchObject({ time: expect.any(String), agents: [{ agentId: "worker" }] });
  });

  it("draws in place on a terminal, says when the connection is stale, and gives the terminal back", async () => {
    await daemon.rouse.recordHeartbeat({ agentId: "worker" });
    const window = openRouse(["ps", "-w"], daemon);
    await window.shows("worker");
    window.resize(40, 10);
    await daemon.rouse.freeze({ reason: "lunch" });
    await until("the freeze is drawn above", async () => (await window.screen())[0]?.startsWith("FROZEN"));
    const drawn = await window.screen();
    expect(drawn.filter((row) => row.startsWith("AGENT"))).toHaveLength(1);
    await daemon.end("SIGKILL");
    await until("it says that it is stale", async () => (await window.screen())[0]?.startsWith("STALE for"));
    window.type("\x03");
    expect(await window.ended).toMatchObject({ code: 0 });
    expect(window.text().endsWith("\x1b[?25h\x1b[?1049l")).toBe(true);
  });
});

describe("words that people know from elsewhere", () => {
  it("stop and kill do what terminate does, restart what recover does, and say so", async () => {
    await spawnAgent(daemon.home, "one", sh(forever));
    expect(await cli("restart", "one")).toMatchObject({
      code: 0,
      stdout: "one runs again, incarnation 2.\n",
      stderr: "rouse: restart is `rouse recover`\n",
    });
    expect(await cli("kill", "one")).toMatchObject({ code: 0, stderr: "rouse: kill is `rouse terminate`\n" });
    await agentOnce(daemon, "one", "is over", isOver);
    expect(await cli("stop", "on")).toMatchObject({ code: 5, stderr: expect.stringContaining("did you mean one?") });
    expect(await cli("logs", "onee")).toMatchObject({ code: 5, stderr: expect.stringContaining("did you mean one?") });
    expect((await cli("treminate")).stderr).toContain("Did you mean terminate?");
  });
});
