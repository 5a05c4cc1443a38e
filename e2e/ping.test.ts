import { afterEach, describe, expect, it } from "vitest";
import { agentOnce } from "./agent-once.ts";
import { cleanUp } from "./clean-up.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";

afterEach(cleanUp);

const get = (url: string, init: RequestInit = {}) =>
  fetch(url, init).then(async (answer) => ({ status: answer.status, text: await answer.text() }));

async function addressOf(daemon: Daemon, agent: string, ...options: string[]): Promise<string> {
  const { stdout, stderr, code } = await daemon.cli("token", "ping", agent, ...options);
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
      ["fail", { state: "DEGRADED", stateReason: "run-failed", activity: { kind: "IDLE" } }],
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
    expect((await get(address, { method: "PUT" })).status).toBe(405);
  });

  it("that says fail is told to somebody once, shown in plain words, and cleared by the next good one", async () => {
    const daemon = await startDaemon();
    const address = await addressOf(daemon, "job");
    const alerts = async () =>
      (await daemon.events()).filter(({ type }) => type.startsWith("ALERT_")).map(({ type }) => type);
    for (const state of ["fail", "fail", "start"]) await get(`${address}?state=${state}`);
    expect(await alerts()).toEqual(["ALERT_RAISED"]);
    for (const command of [["health"], ["health", "job"], ["why", "job"]])
      expect((await daemon.cli(...command)).stdout).toContain("its last run failed, as it says itself");
    expect((await daemon.cli("ps")).stdout).toMatch(/job +DEGRADED/);
    await get(`${address}?state=done`);
    expect(await alerts()).toEqual(["ALERT_RAISED", "ALERT_RESOLVED"]);
  });

  it("with a period is told of when a run does not come, also after one that is done, and after a restart of Rouse", async () => {
    const daemon = await startDaemon();
    const address = await addressOf(daemon, "often", "--every", "1s", "--grace", "1s");
    await get(`${address}?state=done`);
    const missed = await agentOnce(daemon, "often", "is missed", ({ state }) => state === "UNRESPONSIVE");
    expect(missed.findings).toMatchObject([{ kind: "missed-beats", text: "not heard when it was due (every 1 s)" }]);
    expect((await daemon.cli("why", "often")).stdout).toContain("not heard when it was due (every 1 s)");
    await get(address);
    expect(await daemon.rouse.getAgentHealth("often")).toMatchObject({ state: "HEALTHY" });

    const nightly = await addressOf(daemon, "nightly", "--every", "1d");
    await get(`${nightly}?state=done`);
    await daemon.end("SIGKILL");
    const again = await startDaemon({ home: daemon.home });
    expect((await again.cli("why", "nightly")).stdout).toMatch(/of 24 h( 5 min)? allowed/);
    expect((await again.cli("token", "ping", "other", "--grace", "5m")).stderr).toContain("--grace goes with --every");
    expect((await again.cli("token", "ping", "other", "--every", "31d")).stderr).toContain("at most 30d");
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
