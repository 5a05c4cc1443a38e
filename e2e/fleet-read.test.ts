import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mintAgentToken } from "../packages/daemon/src/home/agent-token.ts";
import { agentOnce } from "./agent-once.ts";
import { cleanUp } from "./clean-up.ts";
import { endAgentsAfterwards } from "./end-agents.ts";
import { spawnAgent } from "./held-agents.ts";
import { runRouse } from "./run-rouse.ts";
import { sendRequest } from "./send-request.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";

const config = `
agents:
  sees-all: { fleet_read: all }
  sees-none: { fleet_read: none }
`;

let daemon: Daemon;

beforeAll(async () => {
  daemon = await startDaemon({ config });
  for (const agentId of ["here", "mate", "nomad", "sees-all", "sees-none", "remote"])
    await daemon.rouse.recordHeartbeat({ agentId, status: "RUNNING" });
  for (const agentId of ["far", "far-mate"])
    await daemon.rouse.recordHeartbeat({ agentId, node: "node-2", status: "RUNNING" });
});
afterAll(cleanUp);

const tokenOf = (agentId: string): string => mintAgentToken(daemon.token, { agentId, taskId: null, incarnation: 1 });
const ask = (token: string, path: string) => sendRequest({ url: daemon.url, token }, { path });

async function seenBy(token: string): Promise<string[] | number> {
  const { status, json } = await ask(token, "/api/v1/agents");
  if (status !== 200) return status;
  return (json as { agents: { agentId: string }[] }).agents.map(({ agentId }) => agentId).sort();
}

describe("inside an agent", () => {
  const inside = (agentId: string, ...words: string[]) => {
    const environment = { ROUSE_AGENT_ID: agentId, ROUSE_URL: daemon.url, ROUSE_TOKEN: tokenOf(agentId) };
    return runRouse(words, { home: daemon.home, environment });
  };

  it("`rouse ps`, `health` and `why` show the agents of its node; nothing is ordered", async () => {
    const listed = await inside("here", "ps");
    expect(listed).toMatchObject({ code: 0, stderr: "" });
    expect(listed.stdout).toMatch(/\bmate\b/);
    expect(listed.stdout).not.toMatch(/\bfar\b/);
    expect(await inside("here", "health")).toMatchObject({ code: 0, stdout: expect.stringContaining("mate") });
    expect(await inside("here", "health", "mate")).toMatchObject({ code: 0 });
    expect(await inside("here", "why", "mate")).toMatchObject({ code: 0, stdout: expect.stringContaining("mate is") });
    for (const words of [
      "terminate mate",
      "nudge mate",
      "health far",
      "why far",
      "events",
      "down",
      "service uninstall",
    ])
      expect([words, (await inside("here", ...words.split(" "))).code]).toEqual([words, 4]);
  });
});

describe("an agent's token", () => {
  it("sees those of its node, all or none, as its policy says", async () => {
    const near = ["here", "mate", "nomad", "remote", "sees-all", "sees-none"];
    expect(await seenBy(tokenOf("here"))).toEqual(near);
    expect(await seenBy(tokenOf("sees-all"))).toHaveLength(8);
    expect(await seenBy(tokenOf("sees-none"))).toBe(403);
    expect((await ask(tokenOf("sees-none"), "/api/v1/agents/mate")).status).toBe(403);
    expect((await ask(tokenOf("sees-none"), "/api/v1/agents/sees-none")).status).toBe(200);
    expect((await ask(tokenOf("sees-none"), "/api/health/status")).status).toBe(403);
  });

  it("sees nobody else because it says that it is of their node", async () => {
    const body = JSON.stringify({ agentId: "nomad", node: "node-2" });
    expect((await sendRequest({ url: daemon.url, token: tokenOf("nomad") }, { method: "POST", body })).status).toBe(
      200,
    );
    expect(await seenBy(tokenOf("nomad"))).not.toContain("far");
    expect((await ask(tokenOf("nomad"), "/api/v1/agents/far")).status).toBe(403);
  });

  it("reads of others how they are and why, not their beats, steps or history", async () => {
    for (const [report, status] of [
      ["", 200],
      ["/why", 200],
      ["/history", 403],
      ["/heartbeats", 403],
      ["/steps", 403],
    ] as const)
      expect([report, (await ask(tokenOf("here"), `/api/v1/agents/mate${report}`)).status]).toEqual([report, status]);
    expect((await ask(tokenOf("here"), "/api/v1/agents/nobody")).status).toBe(404);
  });

  it("that was made by name may be used anywhere, so it sees nobody else, whatever its beats say of its node", async () => {
    const made = await daemon.cli("token", "create", "--role", "agent", "--name", "ci", "--agent", "remote");
    const token = made.stdout.trim();
    await daemon.rouse.recordHeartbeat({ agentId: "remote", node: "node-2" });
    expect(await seenBy(token)).toBe(403);
    expect((await ask(token, "/api/v1/agents/far")).status).toBe(403);
    expect((await ask(token, "/api/v1/agents/remote")).status).toBe(200);
  });

  it("sees whoever Rouse started on this machine, whatever that says of its node", async () => {
    endAgentsAfterwards(daemon.home);
    await spawnAgent(daemon.home, "started", ["sleep", "1000"]);
    await agentOnce(daemon, "started", "is held", ({ terminal }) => terminal !== null);
    await daemon.rouse.recordHeartbeat({ agentId: "started", node: "node-2" });
    expect(await seenBy(tokenOf("here"))).toContain("started");
  });
});
