import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { version } from "../version.ts";
import { healthy, hostile, status, stuck, why } from "./show/sample.test-support.ts";

// The built program as a process of its own, against a server that speaks the API. Starting one takes a while.
vi.setConfig({ testTimeout: 60_000 });

const program = fileURLToPath(new URL("../../bin/rouse.js", import.meta.url));
const token = "s3cret-s3cret-s3cret";
let home = "";
let server: Server | undefined;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rouse-cli-"));
});

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
  rmSync(home, { recursive: true });
});

interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function start(words: string[], environment: Record<string, string> = {}): ChildProcessWithoutNullStreams {
  expect(existsSync(program.replace("bin/rouse.js", "dist/main.js")), "run `npm run build` first").toBe(true);
  const { PATH = "", HOME = "" } = process.env;
  return spawn(process.execPath, [program, ...words], {
    cwd: home,
    env: { PATH, HOME, ROUSE_HOME: home, ...environment },
  });
}

async function finish(child: ChildProcessWithoutNullStreams): Promise<Outcome> {
  const texts = { out: "", err: "" };
  child.stdout.on("data", (chunk) => (texts.out += chunk));
  child.stderr.on("data", (chunk) => (texts.err += chunk));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...texts };
}

const rouse = (words: string[], environment?: Record<string, string>) => finish(start(words, environment));

async function serve(listener: RequestListener): Promise<Record<string, string>> {
  const opened = createServer(listener);
  server = opened;
  await new Promise<void>((resolve) => opened.listen(0, "127.0.0.1", resolve));
  return { ROUSE_URL: `http://127.0.0.1:${(opened.address() as AddressInfo).port}`, ROUSE_TOKEN: token };
}

const event = (id: number) => ({
  id,
  time: "2026-02-05T10:00:00.000Z",
  type: "AGENT_REGISTERED",
  payload: { agentId: "worker-1", incarnation: id, taskId: hostile },
});

const frame = (id: number) => `id: ${id}\ndata: ${JSON.stringify(event(id))}\n\n`;

/** Knows two agents, one of them stuck, and asks for the token. */
const twoAgents: RequestListener = (request, response) => {
  const bodies: Record<string, unknown> = {
    "/api/v1/agents?limit=5000": { agents: [stuck, healthy], next: null },
    "/api/v1/agents?filter=unhealthy&limit=5000": { agents: [stuck], next: null },
    "/api/v1/agents/worker-1": stuck,
    "/api/v1/agents/worker-10": healthy,
    "/api/v1/agents/worker-1/why": why,
    "/api/health/status": status,
    "/api/v1/freeze": { ...status, status: "frozen" },
    "/api/v1/events?limit=10": { events: [event(1), event(2)] },
    "/api/v1/events": { events: [event(1), event(2)] },
  };
  const body = bodies[request.url ?? ""];
  const authorised = request.headers.authorization === `Bearer ${token}`;
  const problem = (code: string, message: string) => ({ code, detail: message, retryable: false });
  if (!authorised) response.writeHead(401).end(JSON.stringify(problem("unauthorized", "send the token")));
  else if (body === undefined) response.writeHead(404).end(JSON.stringify(problem("agent-unknown", "no such agent")));
  else response.writeHead(200).end(JSON.stringify(body));
};

describe("rouse", () => {
  it("says its version and how it is used, within 80 columns", async () => {
    expect(await rouse(["--version"])).toEqual({ code: 0, out: `${version}\n`, err: "" });
    const commands = [
      [],
      ["up"],
      ["down"],
      ["status"],
      ["ps"],
      ["health"],
      ["why"],
      ["events"],
      ["config"],
      ["freeze"],
      ["doctor"],
    ];
    for (const { code, out } of await Promise.all(commands.map((words) => rouse([...words, "--help"])))) {
      expect(code).toBe(0);
      for (const line of out.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
    }
  });

  it("ends with 2 and a suggestion when it does not understand", async () => {
    const misspelt = await rouse(["pss"]);
    expect(misspelt).toMatchObject({ code: 2, out: "" });
    expect(misspelt.err).toContain("Did you mean ps?");
    expect((await rouse(["ps", "--jsn"])).err).toContain("Did you mean --json?");
    // What looks most like these would do something else: recover, stop, restart.
    for (const [word, instead] of [
      ["remove", "rm"],
      ["top", "ps -w"],
      ["start", "spawn"],
      ["-v", "--version"],
    ] as const) {
      const { code, err } = await rouse([word, "worker-1"]);
      expect({ code, hints: err.match(/Did you mean .*/g) }).toEqual({ code: 2, hints: [`Did you mean ${instead}?)`] });
    }
    const wrong = [[], ["why"], ["up", "--port", "70000"], ["up", "--tls-cert", "x"], ["events", "--types", "NOPE"]];
    const outcomes = await Promise.all(wrong.map((words) => rouse(words)));
    expect(outcomes.map(({ code }) => code)).toEqual(wrong.map(() => 2));
  });

  it("ends with 3 and one sentence when no daemon is there", async () => {
    expect(await rouse(["ps"])).toEqual({
      code: 3,
      out: "",
      err: "rouse: no Rouse is running; start it with `rouse up -d`\n",
    });
    const environment = await serve(() => undefined);
    await new Promise((resolve) => server?.close(resolve));
    expect(await rouse(["ps", "--json"], environment)).toMatchObject({ code: 3, out: "" });
  });

  it("finds the daemon by what it left in its data folder", async () => {
    const { ROUSE_URL: url } = await serve(twoAgents);
    writeFileSync(join(home, "daemon.json"), JSON.stringify({ pid: 1, url, startedAt: "", version }));
    expect(await rouse(["ps"])).toMatchObject({ code: 4, out: "" });
    writeFileSync(join(home, "token"), `${token}\n`, { mode: 0o600 });
    const { code, out } = await rouse(["ps"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^AGENT .*\nworker-1 +STUCK .*\nworker-10 +HEALTHY .*\n$/);
  });

  it("ends with 4 when the token is wrong, and never prints it", async () => {
    const environment = { ...(await serve(twoAgents)), ROUSE_TOKEN: "wr0ng-wr0ng-wr0ng" };
    for (const words of [["ps"], ["doctor"], ["events", "-f"]]) {
      const { code, out, err } = await rouse(words, environment);
      expect(code).toBe(words[0] === "doctor" ? 1 : 4);
      expect(out + err).not.toContain("wr0ng");
    }
  });

  it("sends no token over the network in the clear", async () => {
    const { code, err } = await rouse(["ps"], { ROUSE_URL: "http://192.0.2.1:7433", ROUSE_TOKEN: token });
    expect(code).toBe(2);
    expect(err).toContain("in the clear");
  });
});

describe("an order to stop or bring back", () => {
  const orders = [
    ["terminate", "worker-1"],
    ["recover", "worker-1"],
  ];
  /** Nothing was ever started here, which whoever goes to the holder says with 5. */
  const byHand = { code: 5, out: "", err: expect.stringContaining("so this is not on record") };

  function leaveAddress(url: string): void {
    writeFileSync(join(home, "daemon.json"), JSON.stringify({ pid: 1, url, startedAt: "", version }));
    writeFileSync(join(home, "token"), `${token}\n`, { mode: 0o600 });
  }

  it("goes to the holder when no daemon is there, or nobody listens where it was", async () => {
    for (const words of orders) expect(await rouse(words)).toMatchObject(byHand);
    const { ROUSE_URL: url = "" } = await serve(() => undefined);
    await new Promise((resolve) => server?.close(resolve));
    leaveAddress(url);
    for (const words of orders) expect(await rouse(words)).toMatchObject(byHand);
  });

  it("does nothing by itself once it was sent: it may be under way, and says where to look", async () => {
    const { ROUSE_URL: url = "" } = await serve((request) => request.socket.destroy());
    leaveAddress(url);
    for (const words of orders) {
      const { code, out, err } = await rouse(words);
      expect({ code, out }).toEqual({ code: 3, out: "" });
      expect(err).toMatch(/^rouse: [^\n]*may be under way all the same: `rouse events --agent worker-1` tells\n$/);
    }
    const { code, err } = await rouse(["recover", "--task", "t-1"]);
    expect(code).toBe(3);
    expect(err).toContain("`rouse recover --task t-1 --status` tells");
  });

  it("does nothing by itself when something else answers, or nobody where ROUSE_URL points", async () => {
    const environment = await serve((_, response) => response.writeHead(502).end("no"));
    leaveAddress(environment["ROUSE_URL"] ?? "");
    for (const words of orders) expect(await rouse(words)).toMatchObject({ code: 3, out: "" });
    await new Promise((resolve) => server?.close(resolve));
    rmSync(join(home, "daemon.json"));
    for (const words of orders) {
      const { code, err } = await rouse(words, environment);
      expect(code).toBe(3);
      expect(err).toMatch(/^rouse: no Rouse is running at [^\n]+\n$/);
    }
  });

  it("ends with one sentence when the answer makes no sense", async () => {
    for (const nonsense of ["{}", "[]", "7", '{"agentId":"worker-1","outcome":"exploded"}']) {
      const environment = await serve((_, response) => response.end(nonsense));
      for (const words of [...orders, ["recover", "--task", "t-1"]]) {
        const { code, out, err } = await rouse(words, environment);
        expect({ code, out }).toEqual({ code: 3, out: "" });
        expect(err).toMatch(/^rouse: [^\n]*not a Rouse that this client understands\n$/);
      }
      server?.close();
    }
  });

  it("is nothing an agent may do by hand when no daemon is there", async () => {
    const inside = { ROUSE_AGENT_ID: "w", ROUSE_TOKEN: "rouse-agent.e30.x" };
    for (const words of orders) expect(await rouse(words, inside)).toMatchObject({ code: 3, out: "" });
  });
});

describe("reads", () => {
  it("print exactly one JSON document with --json", async () => {
    const environment = await serve(twoAgents);
    const read = async (...words: string[]) => JSON.parse((await rouse([...words, "--json"], environment)).out);
    expect(await read("ps")).toEqual({ agents: [stuck, healthy] });
    expect(await read("health")).toEqual({ status, agents: [stuck, healthy] });
    expect(await read("health", "--filter", "unhealthy")).toEqual({ status, agents: [stuck] });
    expect(await read("health", "worker-1")).toMatchObject({ agent: "worker-1", status: "stuck", state: "STUCK" });
    expect(await read("why", "worker-1")).toEqual(why);
    expect(await read("events")).toEqual({ events: [event(1), event(2)] });
    expect(await read("freeze", "--reason", "lunch")).toMatchObject({ status: "frozen" });
    expect(await read("config", "check")).toMatchObject({ ok: true, preset: "default" });
    expect(await read("config", "print")).toMatchObject({ preset: "default", settings: { mode: "act" } });
    expect(await read("config", "schema")).toMatchObject({ title: "Rouse configuration" });
    expect((await read("doctor")).checks).toContainEqual(expect.objectContaining({ name: "node", verdict: "ok" }));
  });

  it("tell a script by the exit code how one agent is", async () => {
    const environment = await serve(twoAgents);
    expect((await rouse(["health", "worker-10"], environment)).code).toBe(0);
    expect((await rouse(["health", "worker-1"], environment)).code).toBe(1);
    expect((await rouse(["health", "nobody"], environment)).code).toBe(5);
    expect((await rouse(["why", "../../x"], environment)).code).toBe(5);
  });
});

describe("rouse events -f", () => {
  const endless: RequestListener = (request, response) => {
    if (request.headers.accept === "application/json") return twoAgents(request, response);
    response.writeHead(200, { "content-type": "text/event-stream" });
    let id = 2;
    const timer = setInterval(() => response.write(frame(++id)), 10);
    response.on("close", () => clearInterval(timer));
  };

  it("prints one line per event and ends quietly with 130 on Ctrl-C", async () => {
    const child = start(["events", "-f", "--json"], await serve(endless));
    const done = finish(child);
    child.stdout.on("data", (chunk) => {
      if (String(chunk).includes('"id":3')) child.kill("SIGINT");
    });
    const { code, out, err } = await done;
    expect({ code, err }).toEqual({ code: 130, err: "" });
    const ids = out
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { id: number }).id);
    expect(ids.slice(0, 3)).toEqual([1, 2, 3]);
  });

  it("ends quietly when nobody reads any more", async () => {
    const child = start(["events", "-f"], await serve(endless));
    const done = finish(child);
    child.stdout.once("data", () => child.stdout.destroy());
    expect(await done).toMatchObject({ code: 0, err: "" });
  });
});

describe("rouse config and doctor", () => {
  it("end with 2 over a bad file and name every mistake", async () => {
    const file = join(home, "bad.yaml");
    writeFileSync(file, "preset: flet\nhealth_monitoring:\n  heartbeat:\n    interval_secs: 5\n");
    const check = await rouse(["config", "check", file]);
    expect(check.code).toBe(2);
    expect(check.out.trim().split("\n")).toHaveLength(2);
    expect(check.out).toContain("did you mean interval_seconds?");
    expect(await rouse(["config", "print", "--config", file])).toMatchObject({ code: 2, out: "" });
    expect((await rouse(["up", "--port", "0", "--config", file])).code).toBe(2);
  });

  it("doctor ends with 1 when a fault is found and says what to do", async () => {
    writeFileSync(join(home, "token"), token);
    const { code, out } = await rouse(["doctor"]);
    expect(code).toBe(1);
    expect(out).toMatch(/token +fail +others may read .*\n +rouse token rotate/);
    expect(out).not.toContain(token);
  });
});
