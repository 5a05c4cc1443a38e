import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { DatabaseSync } from "../packages/holder/src/load-sqlite.ts";
import { afterwards, cleanUp, makeFolder } from "./clean-up.ts";
import { type Ended, runRouse } from "./run-rouse.ts";
import { sendBeat, sendRequest } from "./send-request.ts";
import { startDaemon } from "./start-daemon.ts";

afterEach(cleanUp);

const newHome = (): string => join(makeFolder(), "home");
const startIn = (home: string, ...args: string[]): Promise<Ended> => runRouse(["up", "--port", "0", ...args], { home });

/** One sentence for a person, and no stack trace. */
function expectSentence({ stderr, stdout }: Ended, ...words: readonly (string | RegExp)[]): void {
  for (const word of words) expect(stderr).toMatch(word);
  expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  expect(stderr).toMatch(/^rouse: /);
  expect(stdout).not.toContain("is watching");
}

const openssl = spawnSync("openssl", ["version"]).status === 0;
if (!openssl) console.error("e2e: openssl IS NOT ON THIS MACHINE: the tests of TLS are SKIPPED.");

describe("a start that cannot succeed says why in one sentence, with an exit code for scripts", () => {
  it("the port is taken", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    afterwards(() => void other.close());
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const home = newHome();
    const end = await runRouse(["up", "--port", String(port)], { home });
    expect(end.code).toBe(7);
    expectSentence(end, String(port), "taken", "--port");
    expect(existsSync(join(home, "daemon.json"))).toBe(false);
  });

  it("another Rouse runs on the same data, and is not disturbed", async () => {
    const first = await startDaemon();
    await first.rouse.recordHeartbeat({ agentId: "worker" });
    const second = await startIn(first.home);
    expect(second.code).toBe(7);
    expectSentence(second, "another Rouse is running", first.home, "ROUSE_HOME");
    expect(JSON.parse(readFileSync(join(first.home, "daemon.json"), "utf8"))).toMatchObject({
      pid: first.process.pid,
      url: first.url,
    });
    expect((await first.rouse.recordHeartbeat({ agentId: "worker" })).status).toBe("accepted");
  });

  it("the database is damaged, and stays as it was", async () => {
    const home = newHome();
    mkdirSync(home, { mode: 0o700 });
    const noise = randomBytes(20_000);
    writeFileSync(join(home, "rouse.db"), noise);
    const end = await startIn(home);
    expect(end.code).toBe(6);
    expectSentence(end, join(home, "rouse.db"), "damaged", "move it aside");
    expect(readFileSync(join(home, "rouse.db")).equals(noise)).toBe(true);
  });

  it("the database is of a newer Rouse", async () => {
    const daemon = await startDaemon();
    await daemon.rouse.recordHeartbeat({ agentId: "worker" });
    await daemon.end("SIGTERM");
    const file = join(daemon.home, "rouse.db");
    const db = new DatabaseSync(file);
    db.exec("PRAGMA user_version = 9999");
    db.close();
    const end = await startIn(daemon.home);
    expect(end.code).toBe(6);
    expectSentence(end, "newer Rouse", "9999");
  });

  it("the data folder is a file", async () => {
    const home = newHome();
    writeFileSync(home, "");
    const end = await startIn(home);
    expect(end.code).toBe(6);
    expectSentence(end, home, "data folder", "ROUSE_HOME");
  });

  it("it would be heard beyond this machine without TLS", async () => {
    const home = newHome();
    for (const host of ["0.0.0.0", "::", "192.0.2.7"]) {
      const end = await startIn(home, "--host", host);
      expect(end.code).toBe(2);
      expectSentence(end, host, "TLS", "--tls-cert");
    }
  });

  it("the certificate is none", async () => {
    const home = newHome();
    const file = join(makeFolder(), "cert.pem");
    writeFileSync(file, "not a certificate");
    const end = await startIn(home, "--tls-cert", file, "--tls-key", file);
    expect(end.code).toBe(2);
    expectSentence(end, "certificate");
    expect((await startIn(home, "--tls-cert", file)).code).toBe(2);
  });

  it("the configuration has mistakes: all of them are told at once", async () => {
    const home = newHome();
    mkdirSync(home, { mode: 0o700 });
    const config = [
      "preset: flet",
      "health_monitoring:",
      "  heartbeat: { intervall_seconds: 5, grace_seconds: soon }",
      "  mode: maybe",
    ];
    writeFileSync(join(home, "config.yaml"), config.join("\n"));
    const { code, stderr } = await startIn(home);
    expect(code).toBe(2);
    for (const line of ["config.yaml:1", "config.yaml:3", "config.yaml:4"]) expect(stderr).toContain(line);
    for (const hint of ["did you mean fleet", "did you mean interval_seconds", "grace_seconds", "maybe"]) {
      expect(stderr).toContain(hint);
    }
    expect(stderr.trimEnd().split("\n")).toHaveLength(4);
    expect(existsSync(join(home, "rouse.db"))).toBe(false);
  });

  it("the words are wrong", async () => {
    const home = newHome();
    for (const words of [["--port", "70000"], ["--port", "no"], ["--prot", "1"], ["--config"]]) {
      expect((await runRouse(["up", ...words], { home })).code).toBe(2);
    }
  });
});

describe("a daemon that started", () => {
  it("found a free port by itself, says so in daemon.json, and keeps its folder to its owner", async () => {
    const daemon = await startDaemon();
    expect(JSON.parse(readFileSync(join(daemon.home, "daemon.json"), "utf8"))).toMatchObject({
      pid: daemon.process.pid,
      startTicks: expect.any(Number),
      url: daemon.url,
    });
    expect(Number(new URL(daemon.url).port)).toBeGreaterThan(0);
    expect((await sendRequest(daemon, { path: "/readyz" })).status).toBe(200);
    expect(modeOf(daemon.home)).toBe("700");
    // Agents that Rouse starts have a folder of their own in here.
    const files = readdirSync(daemon.home).filter((name) => name !== "holders");
    if (existsSync(join(daemon.home, "holders"))) expect(modeOf(join(daemon.home, "holders"))).toBe("700");
    expect(files).toEqual(expect.arrayContaining(["token", "daemon.json", "rouse.db", "rouse.db-wal"]));
    expect(files.map((file) => [file, modeOf(join(daemon.home, file))])).toEqual(files.map((file) => [file, "600"]));
  });

  it("took back what an older folder had left open to others", async () => {
    const home = newHome();
    mkdirSync(home, { mode: 0o755 });
    writeFileSync(join(home, "token"), `${"t".repeat(40)}\n`, { mode: 0o600 });
    const daemon = await startDaemon({ home });
    expect(daemon.token).toBe("t".repeat(40));
    expect([home, join(home, "token")].map(modeOf)).toEqual(["700", "600"]);
  });

  it("does not start with a token that others may have read, and says how to get another", async () => {
    const home = newHome();
    mkdirSync(home, { mode: 0o700 });
    const file = join(home, "token");
    for (const mode of [0o640, 0o604, 0o644]) {
      writeFileSync(file, `${"t".repeat(40)}\n`);
      chmodSync(file, mode);
      const refused = await runRouse(["up", "--port", "0"], { home });
      expect(refused).toMatchObject({ code: 6, stdout: "" });
      expect(refused.stderr).toContain("rouse token rotate");
      expect(refused.stderr).not.toContain("tttt");
      expect(modeOf(file)).toBe(mode.toString(8));
    }
    expect(await runRouse(["token", "rotate"], { home })).toMatchObject({ code: 0 });
    const daemon = await startDaemon({ home });
    expect(daemon.token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(modeOf(file)).toBe("600");
    expect(await daemon.cli("token", "rotate")).toMatchObject({ code: 7 });
    expect((await sendRequest(daemon, { path: "/readyz" })).status).toBe(200);
  });

  it.each(["SIGTERM", "SIGINT"] as const)(
    "stops cleanly on %s, and a later start knows what was there",
    async (signal) => {
      const first = await startDaemon();
      await first.rouse.recordHeartbeat({ agentId: "worker", sequenceNumber: 1, taskId: "task-7" });
      const end = await first.end(signal);
      expect(end).toMatchObject({ code: 0, signal: null });
      expect(existsSync(join(first.home, "daemon.json"))).toBe(false);

      const second = await startDaemon({ home: first.home });
      expect(second.token).toBe(first.token);
      expect(await second.events("MONITOR_STOPPED")).toHaveLength(1);
      expect(await second.rouse.getAgentHealth("worker")).toMatchObject({ state: "HEALTHY", taskId: "task-7" });
    },
  );

  it("stops cleanly while somebody listens to its events and somebody else is silent in the middle of a request", async () => {
    const daemon = await startDaemon();
    const listening = fetch(`${daemon.url}/api/v1/events`, {
      headers: { authorization: `Bearer ${daemon.token}`, accept: "text/event-stream" },
    });
    const reader = (await listening).body?.getReader();
    await reader?.read();
    const silent = connect(Number(new URL(daemon.url).port), "127.0.0.1").on("error", () => undefined);
    await once(silent, "connect");
    silent.write("POST /api/v1/heartbeats HTTP/1.1\r\nhost: ");
    expect(await daemon.end("SIGTERM")).toMatchObject({ code: 0, signal: null });
    await reader?.read().catch(() => undefined);
  });

  it("shows its token to nobody: not in its output, its arguments or its environment", async () => {
    const daemon = await startDaemon();
    await daemon.rouse.recordHeartbeat({ agentId: "worker" });
    await sendRequest(daemon, { headers: { authorization: "Bearer wrong" } });
    const shown = await Promise.all([daemon.cli("ps"), daemon.cli("doctor"), daemon.cli("health", "--json")]);
    const visible = ["cmdline", "environ"].map((file) => readFileSync(`/proc/${daemon.process.pid}/${file}`, "utf8"));
    const { stdout, stderr } = await daemon.end("SIGTERM");
    for (const text of [stdout, stderr, ...visible, ...shown.flatMap((end) => [end.stdout, end.stderr])]) {
      expect(text).not.toContain(daemon.token);
    }
  });
});

describe.skipIf(!openssl)("beyond this machine", () => {
  function makeCertificate(): { cert: string; key: string } {
    const folder = makeFolder();
    const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    const made = spawnSync(
      "openssl",
      ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"].concat(
        ["-subj", "/CN=rouse", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1,DNS:monitor.example"],
        ["-keyout", key, "-out", cert],
      ),
    );
    expect(made.status).toBe(0);
    return { cert, key };
  }

  it("it listens with a certificate, answers to the names on it, and to no other", async () => {
    const { cert, key } = makeCertificate();
    const daemon = await startDaemon({ args: ["--host", "0.0.0.0", "--tls-cert", cert, "--tls-key", key] });
    const { port } = new URL(daemon.url);
    const ca = readFileSync(cert);
    const target = { url: `https://127.0.0.1:${port}`, token: daemon.token };
    const call = (host: string) =>
      sendRequest(target, { path: "/api/v1/agents", ca, headers: { host: `${host}:${port}` } });
    expect(daemon.url).toMatch(/^https:/);
    expect((await call("127.0.0.1")).status).toBe(200);
    expect((await call("monitor.example")).status).toBe(200);
    expect((await call("evil.example")).status).toBe(421);
    await expect(sendRequest(target, { path: "/livez" })).rejects.toThrow(/self.signed/);
    await expect(sendBeat({ ...target, url: `http://127.0.0.1:${port}` }, { agentId: "a" })).rejects.toThrow();
  });

  it("the commands on the same machine find it and check its certificate", async () => {
    const { cert, key } = makeCertificate();
    const daemon = await startDaemon({ args: ["--host", "0.0.0.0", "--tls-cert", cert, "--tls-key", key] });
    const trusting = await runRouse(["ps"], { home: daemon.home, environment: { NODE_EXTRA_CA_CERTS: cert } });
    expect(trusting).toMatchObject({ code: 0, stdout: expect.stringContaining("No agents yet") });
    const wary = await daemon.cli("ps");
    expect(wary).toMatchObject({ code: 3, stderr: expect.stringContaining("certificate") });
  });
});

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
