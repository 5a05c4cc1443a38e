import { afterEach, describe, expect, it } from "vitest";
import { agentOnce } from "./agent-once.ts";
import { cleanUp } from "./clean-up.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";

afterEach(cleanUp);

const get = (url: string, init: RequestInit = {}) =>
  fetch(url, init).then(async (answer) => ({ status: answer.status, text: await answer.text() }));

async function addressOf(daemon: Daemon, agent: string): Promise<string> {
  const { stdout, stderr, code } = await daemon.cli("token", "ping", agent);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^http:\/\/\S+\/ping\/\S+\n$/);
  return stdout.trim();
}

describe("a ping address", () => {
  it("is all that is needed to be heard: fetched with GET or POST, with a state or without", async () => {
    const daemon = await startDaemon();
    const address = await addressOf(daemon, "nightly:backup");
    expect(await get(address)).toEqual({ status: 200, text: "OK\n" });
    expect(await agentOnce(daemon, "nightly:backup", "is known", () => true)).toMatchObject({ state: "HEALTHY" });
    expect((await get(`${address}?state=running`, { method: "POST", body: "of no interest" })).status).toBe(200);
    expect((await get(address, { method: "HEAD" })).status).toBe(200);
    const states = [
      ["idle", { activity: { kind: "IDLE" } }],
      ["fail", { state: "DEGRADED", stateReason: "self-reported" }],
      ["done", { state: "HEALTHY", activity: { kind: "FINISHED" } }],
    ] as const;
    for (const [state, expected] of states) {
      await get(`${address}?state=${state}`);
      expect(await daemon.rouse.getAgentHealth("nightly:backup")).toMatchObject(expected);
    }
    const unknown = await get(`${address}?state=dancing`);
    expect(unknown.status).toBe(400);
    expect(unknown.text).toContain("start, running, idle, done, fail");
    for (const query of ["exit=3", "state=done&state=fail", "state=done&agentId=other"])
      expect([query, (await get(`${address}?${query}`)).status]).toEqual([query, 400]);
    expect((await get(address, { method: "PUT" })).status).toBe(400);
  });

  it("is good for its agent's pings and for nothing else, until it is revoked", async () => {
    const daemon = await startDaemon();
    const address = await addressOf(daemon, "job");
    const secret = decodeURIComponent(address.split("/").at(-1) ?? "");
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
    for (const path of ["/api/v1/agents", "/api/v1/agents/job", "/api/health/status", "/metrics", "/readyz"])
      expect([path, (await get(`${daemon.url}${path}`, { headers })).status]).toEqual([path, 403]);
    const beat = { method: "POST", headers, body: JSON.stringify({ agentId: "job" }) };
    expect((await get(`${daemon.url}/api/v1/heartbeats`, beat)).status).toBe(403);
    expect((await get(address.replace("/ping/job/", "/ping/other/"))).status).toBe(401);
    expect((await get(`${address}/more`)).status).toBe(401);
    // Neither the owner's token nor one that speaks for the agent makes an address.
    expect((await get(`${daemon.url}/ping/job/${daemon.token}`)).status).toBe(401);
    const made = await daemon.cli("token", "create", "--role", "agent", "--name", "ci", "--agent", "job");
    expect((await get(`${daemon.url}/ping/job/${encodeURIComponent(made.stdout.trim())}`)).status).toBe(401);
    const owner = { headers: { authorization: `Bearer ${daemon.token}` } };
    expect((await get(`${daemon.url}/ping/job/x`, owner)).status).toBe(401);
    expect((await daemon.cli("token", "ping", "job")).stderr).toContain(
      "there is a token ping-job already; `rouse token revoke ping-job` ends it, or choose another --name",
    );
    expect((await daemon.cli("token", "ping", "job", "--name", "second")).code).toBe(0);
    expect((await daemon.cli("token", "list")).stdout).toMatch(/ping-job +ping +job/);
    expect((await get(address)).status).toBe(200);
    await daemon.cli("token", "revoke", "ping-job");
    expect((await get(address)).status).toBe(401);
    expect(daemon.process.stdout() + daemon.process.stderr()).not.toContain(secret.slice(-20));
    const kept = JSON.stringify([await daemon.events(), (await daemon.cli("audit", "list", "--json")).stdout]);
    expect(kept).not.toContain(secret.slice(-20));
  });

  it("that is guessed is answered ever more slowly, and in the end sent away", async () => {
    const daemon = await startDaemon();
    const guesses = Array.from({ length: 60 }, (_, n) => get(`${daemon.url}/ping/job/rouse-token.ping-job.${n}`));
    const answers = (await Promise.all(guesses)).map(({ status }) => status);
    expect(new Set(answers)).toEqual(new Set([401, 429]));
  });

  it("needs a Rouse that runs, or to be told where it will be", async () => {
    const daemon = await startDaemon();
    await daemon.end("SIGTERM");
    const none = await daemon.cli("token", "ping", "job");
    expect(none).toMatchObject({ stdout: "", stderr: expect.stringContaining("--url") });
    const told = await daemon.cli("token", "ping", "job", "--url", "https://rouse.example.org/", "--json");
    expect(JSON.parse(told.stdout)).toMatchObject({
      agentId: "job",
      name: "ping-job",
      url: expect.stringMatching(/^https:\/\/rouse\.example\.org\/ping\/job\/rouse-token\.ping-job\./),
    });
  });
});
