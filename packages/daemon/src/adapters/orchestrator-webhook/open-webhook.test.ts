import { spawnSync } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EscalationNotice, minutes, WebhookMessage } from "@rouse/contract";
import { verifyWebhook } from "@rouse/sdk";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { handWoundTimers } from "../../engine/hand-wound-timers.test-support.ts";
import { escalationDesk } from "../../escalations/escalation-desk.test-support.ts";
import type { Orchestrator } from "../../ports/orchestrator.ts";
import { openWebhook } from "./open-webhook.ts";
import { postSigned, signBody } from "./post-signed.ts";

const secret = "s3cret-s3cret-s3cret";
const dawn = Date.parse("2026-02-05T10:00:00Z");

let notice: EscalationNotice;
let servers: Server[] = [];
let webhook: Orchestrator | null = null;
let elapsed = 0;
let wound = handWoundTimers();
let allowPrivate = false;
let warnings: unknown[] = [];
let errors: unknown[] = [];

beforeEach(async () => {
  const desk = await escalationDesk();
  desk.beat("worker-1");
  const { escalation } = await desk.escalations.escalate("worker-1", "ada", "");
  notice = (await desk.notice(escalation)) as EscalationNotice;
  elapsed = 0;
  wound = handWoundTimers();
  allowPrivate = false;
  warnings = [];
  errors = [];
});

afterEach(() => {
  webhook?.close();
  webhook = null;
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  servers = [];
});

interface Arrived {
  readonly request: IncomingMessage;
  readonly body: string;
}

/** A receiver that answers the first request with the first answer, and so on; the last answer goes on for ever. */
async function receive(...answers: ((response: ServerResponse, arrived: Arrived) => void)[]) {
  const arrived: Arrived[] = [];
  const listener: RequestListener = async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const one = { request, body: Buffer.concat(chunks).toString("utf8") };
    arrived.push(one);
    answers[Math.min(arrived.length, answers.length) - 1]?.(response, one);
  };
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { arrived, url: `http://127.0.0.1:${port}/hooks/s3cret-path?key=s3cret-key`, port, server };
}

const says =
  (status: number, body?: unknown, headers: Record<string, string> = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(status, headers).end(body === undefined ? undefined : JSON.stringify(body));

function open(url: string | null | (() => string | null)): Orchestrator {
  webhook = openWebhook({
    url: typeof url === "function" ? url : () => url,
    allowPrivate: () => allowPrivate,
    secret,
    clock: {
      mono: () => elapsed,
      wall: () => dawn + elapsed,
      read: () => ({ mono: elapsed, boot: elapsed, wall: dawn + elapsed }),
    },
    timers: wound.timers,
    log: { info: () => undefined, warn: (fields) => warnings.push(fields), error: (fields) => errors.push(fields) },
  });
  return webhook;
}

const until = dawn + minutes(15);

const eventually = <T>(look: () => T | Promise<T>): Promise<T> => vi.waitFor(look, { timeout: 30_000, interval: 5 });

/** Time passes once it is waited for. */
async function afterPauseOf(pause: number): Promise<void> {
  await eventually(() => expect(wound.waiting().later).toEqual([pause]));
  elapsed += pause;
  await wound.pass(pause);
}

/** The beginning of an answer is on our side of the line. */
const answerArrived = (): Promise<void> =>
  new Promise((resolve) => {
    const heard = (): void => {
      unsubscribe("http.client.response.finish", heard);
      resolve();
    };
    subscribe("http.client.response.finish", heard);
  });

const arrivals = (arrived: readonly Arrived[], count: number) => eventually(() => expect(arrived).toHaveLength(count));

describe("a question", () => {
  it("is posted whole, signed and under its own name", async () => {
    const { arrived, url } = await receive(says(200, { ok: true }));
    expect(await open(url).ask(notice, until)).toBe("delivered");
    expect(arrived).toHaveLength(1);
    const { request, body } = arrived[0] as Arrived;
    expect([request.method, request.url, request.headers["content-type"]]).toEqual([
      "POST",
      "/hooks/s3cret-path?key=s3cret-key",
      "application/json; charset=utf-8",
    ]);
    expect(request.headers["rouse-delivery"]).toBe("worker-1.1");
    expect(WebhookMessage.parse(JSON.parse(body))).toEqual({
      type: "escalation",
      nonce: expect.any(String),
      ...notice,
    });
    const signature = String(request.headers["rouse-signature"]);
    expect(signature).toMatch(/^t=1770285600,v1=[0-9a-f]{64}$/);
    expect(await verifyWebhook(body, signature, secret, dawn)).toBe("right");
    expect(await verifyWebhook(body, signature, `${secret}x`, dawn)).toBe("wrong");
    expect(await verifyWebhook(body, signature, secret, dawn + minutes(6))).toBe("too-old");
  });

  it("is nobody's to deliver when there is no webhook: the API is the way", async () => {
    expect(await open(null).ask(notice, until)).toBe("delivered");
    expect(await open(null).ask(notice, dawn - 1)).toBe("delivered");
    await open(null).withdraw("worker-1.1", "worker-1", "over");
    expect(wound.waiting().later).toEqual([]);
  });

  it("is sent again after 1, 2 and 4 s when the receiver fails, signed anew, and is the same question", async () => {
    const { arrived, url } = await receive(says(500), says(503), says(404), says(204));
    const asked = open(url).ask(notice, until);
    for (const pause of [1000, 2000, 4000]) await afterPauseOf(pause);
    expect(await asked).toBe("delivered");
    expect(new Set(arrived.map(({ body }) => body)).size).toBe(1);
    expect(new Set(arrived.map(({ request }) => request.headers["rouse-delivery"]))).toEqual(new Set(["worker-1.1"]));
    const stamps = arrived.map(({ request }) => /^t=(\d+)/.exec(String(request.headers["rouse-signature"]))?.[1]);
    expect(stamps).toEqual(["1770285600", "1770285601", "1770285603", "1770285607"]);
  });

  it("waits a minute at most between two tries, and gives up in time for a person to be told", async () => {
    const { arrived, url } = await receive(says(500));
    const asked = open(url).ask(notice, until);
    for (const pause of [1000, 2000, 4000, 8000, 16_000, 32_000]) await afterPauseOf(pause);
    for (let n = 0; n < 12; n++) await afterPauseOf(60_000);
    await afterPauseOf(17_000);
    expect(await asked).toEqual({ problem: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+ answered 500$/) });
    expect(arrived).toHaveLength(20);
    expect(elapsed).toBeLessThan(minutes(15) * 0.9);
  });

  it("is tried until most of a short time is used up, too", async () => {
    const { arrived, url } = await receive(...Array.from({ length: 6 }, () => says(500)), says(204));
    const asked = open(url).ask(notice, dawn + minutes(1));
    for (const pause of [1000, 2000, 4000, 8000, 16_000, 13_000]) await afterPauseOf(pause);
    expect(await asked).toBe("delivered");
    expect(arrived).toHaveLength(7);
  });

  it("names who does not answer, and nothing of its address that could be a secret", async () => {
    const { url, server } = await receive(says(200));
    await new Promise((resolve) => server.close(resolve));
    const asked = open(url).ask(notice, dawn + 1500);
    await afterPauseOf(1000);
    const outcome = await asked;
    expect(outcome).toEqual({
      problem: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+ cannot be reached \(ECONNREFUSED\)$/),
    });
    expect(JSON.stringify(outcome)).not.toContain("s3cret");
  });

  it("is not waited for longer than 10 s, and tried again", async () => {
    const { arrived, url } = await receive(() => undefined, says(200));
    const asked = open(url).ask(notice, until);
    await arrivals(arrived, 1);
    await afterPauseOf(10_000);
    await afterPauseOf(1000);
    expect(await asked).toBe("delivered");
    expect(arrived).toHaveLength(2);
  });

  it("is given up when the time is over while the receiver still thinks", async () => {
    const { arrived, url } = await receive(() => undefined);
    const asked = open(url).ask(notice, dawn + 4000);
    await arrivals(arrived, 1);
    await afterPauseOf(3600);
    expect(await asked).toEqual({ problem: expect.stringContaining("no answer within 4 s") });
  });

  it("is not even tried when the time is over before", async () => {
    const { arrived, url } = await receive(says(200));
    expect(await open(url).ask(notice, dawn)).toEqual({ problem: "there was no time left to deliver it" });
    expect(arrived).toEqual([]);
  });

  it("goes nowhere else when the receiver redirects, and says what to do", async () => {
    const elsewhere = await receive(says(200));
    const { arrived, url } = await receive(says(307, undefined, { location: elsewhere.url }));
    const asked = open(url).ask(notice, dawn + 1500);
    await afterPauseOf(1000);
    expect(await asked).toEqual({ problem: expect.stringMatching(/answered 307; redirects are not followed/) });
    expect(arrived).toHaveLength(2);
    expect(elsewhere.arrived).toEqual([]);
  });

  it("is a problem at once where it is not wanted any more", async () => {
    const { arrived, url } = await receive(says(410, { decision: "terminate_and_recover" }));
    expect(await open(url).ask(notice, until)).toEqual({ problem: expect.stringContaining("does not want") });
    expect(arrived).toHaveLength(1);
  });

  it("is delivered to a receiver that breaks off after it took it", async () => {
    const taken = answerArrived();
    const { url, server } = await receive((response) => {
      response.writeHead(200, { "content-length": "1000" }).write('{"decision":');
    });
    const asked = open(url).ask(notice, until);
    await taken;
    server.closeAllConnections();
    expect(await asked).toBe("delivered");
  });

  it("is delivered to a receiver that never ends its answer", async () => {
    const taken = answerArrived();
    const { url } = await receive((response) => {
      response.writeHead(200).write('{"decision":"allow_more_time"');
    });
    const asked = open(url).ask(notice, until);
    await taken;
    await afterPauseOf(10_000);
    expect(await asked).toBe("delivered");
  });

  it("is delivered to a receiver that never stops talking, and not listened to", async () => {
    let closed = false;
    const { url } = await receive((response) => {
      response.on("close", () => {
        closed = true;
      });
      const talk = (): void => {
        if (!closed) response.write("x".repeat(16 * 1024), () => setImmediate(talk));
      };
      response.writeHead(200);
      talk();
    });
    expect(await open(url).ask(notice, until)).toBe("delivered");
    await eventually(() => expect(closed).toBe(true));
  });

  it("goes to the new address when the configuration changes between two tries", async () => {
    const [first, second] = [await receive(says(500)), await receive(says(200))];
    let url: string | null = first.url;
    const asked = open(() => url).ask(notice, until);
    await arrivals(first.arrived, 1);
    url = second.url;
    await afterPauseOf(1000);
    expect(await asked).toBe("delivered");
    expect(second.arrived).toHaveLength(1);
  });
});

/** An orchestrator that knows the secret; what it signs for can be changed. */
const signs =
  (body: unknown, { by = secret, at = dawn, over = {} as { nonce?: string; id?: string } } = {}) =>
  (response: ServerResponse, { body: asked }: Arrived) => {
    const text = JSON.stringify(body);
    const { nonce, id } = { ...(JSON.parse(asked) as { nonce: string; id: string }), ...over };
    says(200, body, { "rouse-signature": signBody(by, `${nonce}.${id}.${text}`, at) })(response);
  };

describe("an answer that comes at once", () => {
  const answered = async (body: unknown) => open((await receive(signs(body))).url).ask(notice, until);

  it("is the decision", async () => {
    expect(
      await answered({ decision: "allow_more_time", minutes: 30, actor: "planner", reason: "a long build" }),
    ).toEqual({
      decided: { decision: "allow_more_time", minutes: 30, actor: "planner", reason: "a long build" },
    });
    expect(await answered({ decision: "terminate_and_recover", ticket: 7 })).toEqual({
      decided: { decision: "terminate_and_recover", reason: "no reason given" },
    });
  });

  it("decides nothing when it cannot be read, and that is logged", async () => {
    for (const body of [{ decision: "kill it" }, { decision: "allow_more_time", minutes: -1 }, { decision: null }])
      expect(await answered(body)).toBe("delivered");
    expect(warnings).toHaveLength(3);
    for (const body of [{}, [], "decision", null, { ok: true }]) expect(await answered(body)).toBe("delivered");
    expect(warnings).toHaveLength(3);
  });

  it("decides nothing when it is longer than 64 kB or breaks off, and that is logged", async () => {
    const long = (length: number) => ({ decision: "force_handoff", ticket: "x".repeat(length) });
    expect(await answered(long(65_000))).toMatchObject({ decided: { decision: "force_handoff" } });
    expect(warnings).toEqual([]);
    expect(await answered(long(66_000))).toBe("delivered");
    const { url } = await receive((response) => {
      response.writeHead(200).write('{"decision":"force_handoff"}', () => response.destroy());
    });
    expect(await open(url).ask(notice, until)).toBe("delivered");
    const problem = "the answer is longer than 64 kB or was never finished";
    expect(warnings).toEqual([1, 2].map(() => ({ escalation: "worker-1.1", problem })));
  });

  it("counts for each time it is given: whoever takes it in counts it once", async () => {
    const { arrived, url } = await receive(
      signs({ decision: "force_handoff" }),
      signs({ decision: "allow_more_time" }),
    );
    const orchestrator = open(url);
    expect(await orchestrator.ask(notice, until)).toMatchObject({ decided: { decision: "force_handoff" } });
    expect(await orchestrator.ask(notice, until)).toMatchObject({ decided: { decision: "allow_more_time" } });
    expect(arrived.map(({ request }) => request.headers["rouse-delivery"])).toEqual(["worker-1.1", "worker-1.1"]);
  });
});

describe("a decision that nobody vouches for", () => {
  const kill = { decision: "terminate_and_recover" };
  const refusedOf = async (answer: Parameters<typeof receive>[0]) => {
    const asked = await open((await receive(answer)).url).ask(notice, until);
    return typeof asked === "object" && "refused" in asked ? asked.refused : asked;
  };

  it("is refused: without a signature, with another secret, another question, another body, too old", async () => {
    expect(await refusedOf(says(200, kill))).toBe("unsigned");
    expect(await refusedOf(says(200, kill, { "rouse-signature": "sha256=abc" }))).toBe("malformed");
    expect(await refusedOf(signs(kill, { by: `${secret}x` }))).toBe("wrong");
    expect(await refusedOf(signs(kill, { over: { id: "worker-1.2" } }))).toBe("wrong");
    expect(await refusedOf(signs(kill, { over: { nonce: "" } }))).toBe("wrong");
    expect(await refusedOf(signs(kill, { at: dawn - minutes(6) }))).toBe("too-old");
    const other = says(200, { ...kill, minutes: 1 });
    const swapped = (response: ServerResponse, { body }: Arrived) => {
      const { nonce, id } = JSON.parse(body) as { nonce: string; id: string };
      response.setHeader("rouse-signature", signBody(secret, `${nonce}.${id}.${JSON.stringify(kill)}`, dawn));
      other(response);
    };
    expect(await refusedOf(swapped)).toBe("wrong");
  });

  it("is refused when it was right for an earlier asking of the same question", async () => {
    let kept: Arrived | undefined;
    const first = (response: ServerResponse, arrived: Arrived) => {
      kept = arrived;
      signs(kill)(response, arrived);
    };
    const { arrived, url } = await receive(first, (response) => kept && signs(kill)(response, kept));
    const orchestrator = open(url);
    expect(await orchestrator.ask(notice, until)).toMatchObject({ decided: kill });
    expect(await orchestrator.ask(notice, until)).toMatchObject({ refused: "wrong" });
    const [one, two] = arrived.map(({ body }) => (JSON.parse(body) as { nonce: string }).nonce);
    expect(one).toMatch(/^[A-Za-z0-9_-]{22}$/);
    expect(two).not.toBe(one);
  });

  it("is said to be refused in words for a person, and nobody's address is told whole", async () => {
    const { url } = await receive(says(200, kill));
    const asked = await open(url).ask(notice, until);
    expect(asked).toMatchObject({
      problem: expect.stringMatching(/127\.0\.0\.1:\d+ answered with a decision that is not/),
    });
    expect(errors).toMatchObject([{ escalation: "worker-1.1" }]);
    expect(JSON.stringify([asked, errors])).not.toContain("s3cret");
  });
});

describe("the way", () => {
  it("is never in the clear, but on this machine", async () => {
    for (const url of [
      "http://orchestrator.internal/hook",
      "http://192.168.1.7:8080/",
      "http://127.example.com/",
      "http://[2001:db8::2]/",
    ])
      expect(await open(url).ask(notice, until), url).toEqual({ problem: expect.stringContaining("in the clear") });
    for (const url of ["ftp://127.0.0.1/", "nonsense", ""])
      expect(await open(url).ask(notice, until), url).toEqual({ problem: expect.stringContaining("not an http") });
    const { port } = await receive(says(200));
    expect(await open(`http://localhost:${port}/`).ask(notice, until)).toBe("delivered");
  });

  it("is never to an address that is no one host's, nor to a name that stands for one it may not", async () => {
    for (const url of ["https://169.254.169.254/", "https://[fe80::1]/", "https://0.0.0.0/", "https://224.0.0.1/"])
      expect(await open(url).ask(notice, until), url).toEqual({ problem: expect.stringContaining("not one host's") });
    // This machine's own name stands for no private address here: with the setting, in the clear, it still has to be one.
    allowPrivate = true;
    const { port, arrived } = await receive(says(200));
    expect(await open(`http://localhost:${port}/`).ask(notice, until)).toBe("delivered");
    const letter = { delivery: "x", body: "{}", secret, at: dawn, within: 1000 };
    const to = new URL(`http://localhost:${port}/`);
    const sent = postSigned({ ...letter, to, whyNot: (at) => `not to ${at}` }, wound.timers, AbortSignal.timeout(9000));
    await expect(sent).rejects.toThrow(/^not to (127\.0\.0\.1|::1)$/);
    expect(arrived).toHaveLength(1);
  });

  it.skipIf(spawnSync("openssl", ["version"]).status !== 0)(
    "is not taken when the other side's certificate is nobody's",
    async () => {
      let asked = 0;
      const server = createSecureServer(ownCertificate(), (_, response) => {
        asked += 1;
        response.end();
      });
      servers.push(server as unknown as Server);
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const outcome = open(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`).ask(notice, dawn + 1500);
      await afterPauseOf(1000);
      expect(await outcome).toEqual({
        problem: expect.stringMatching(/certificate .* is not trusted .*NODE_EXTRA_CA_CERTS/),
      });
      expect(asked).toBe(0);
    },
  );
});

describe("a withdrawal", () => {
  it("tells that the question need not be answered, under a name of its own", async () => {
    const { arrived, url } = await receive(says(200));
    await open(url).withdraw("worker-1.1", "worker-1", "it is well again");
    const { request, body } = arrived[0] as Arrived;
    expect(WebhookMessage.parse(JSON.parse(body))).toEqual({
      type: "withdrawal",
      id: "worker-1.1",
      agentId: "worker-1",
      because: "it is well again",
    });
    expect(request.headers["rouse-delivery"]).toBe("worker-1.1/over");
    expect(await verifyWebhook(body, String(request.headers["rouse-signature"]), secret, dawn)).toBe("right");
  });

  it("has no answer worth a word in the log, however it ends", async () => {
    const { url } = await receive((response) => response.writeHead(200).write("{", () => response.destroy()));
    await open(url).withdraw("worker-1.1", "worker-1", "over");
    expect(warnings).toEqual([]);
  });

  it("is tried twice and then left", async () => {
    const { arrived, url } = await receive(says(500));
    const withdrawn = open(url).withdraw("worker-1.1", "worker-1", "over");
    await afterPauseOf(1000);
    await withdrawn;
    expect(arrived).toHaveLength(2);
    expect(warnings).toMatchObject([{ escalation: "worker-1.1" }]);
  });

  it("ends the asking of the same question and of no other", async () => {
    const { arrived, url } = await receive(says(500), says(500), says(200));
    const orchestrator = open(url);
    const asked = orchestrator.ask(notice, until);
    await arrivals(arrived, 1);
    const other = orchestrator.ask({ ...notice, id: "worker-1.11" }, until);
    await arrivals(arrived, 2);
    await eventually(() => expect(wound.waiting().later).toEqual([1000, 1000]));
    await orchestrator.withdraw("worker-1.1", "worker-1", "it is well again");
    expect(await asked).toEqual({ problem: "it was withdrawn before anybody took it" });
    await afterPauseOf(1000);
    expect(await other).toBe("delivered");
    expect(arrived.map(({ request }) => request.headers["rouse-delivery"])).toEqual([
      "worker-1.1",
      "worker-1.11",
      "worker-1.1/over",
      "worker-1.11",
    ]);
  });

  it("ends the asking even while the receiver thinks", async () => {
    const { arrived, url } = await receive(() => undefined, says(200));
    const orchestrator = open(url);
    const asked = orchestrator.ask(notice, until);
    await arrivals(arrived, 1);
    await orchestrator.withdraw("worker-1.1", "worker-1", "it is well again");
    expect(await asked).toEqual({ problem: "it was withdrawn before anybody took it" });
  });
});

describe("a webhook that is closed", () => {
  it("leaves no timer and no connection behind, and what was under way is not known to have failed", async () => {
    const thinking = await receive(() => undefined);
    const failing = await receive(says(500));
    const [first, second] = [open(thinking.url), open(failing.url)];
    const asked = [first.ask(notice, until), second.ask(notice, until)];
    const outcomes = Promise.allSettled(asked);
    await arrivals(thinking.arrived, 1);
    await eventually(() => expect(wound.waiting().later.toSorted()).toEqual([1000, 10_000]));
    for (const one of [first, second, first]) one.close();
    expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await eventually(() => expect(wound.waiting().later).toEqual([]));
    expect(await connectionsOf(thinking.server)).toBe(0);
  });

  it("sends nothing any more", async () => {
    const { arrived, url } = await receive(says(200));
    const orchestrator = open(url);
    orchestrator.close();
    await expect(orchestrator.ask(notice, until)).rejects.toThrow("closed");
    await orchestrator.withdraw("worker-1.1", "worker-1", "over");
    expect(arrived).toEqual([]);
  });
});

const connectionsOf = (server: Server): Promise<number> =>
  eventually(
    () =>
      new Promise<number>((resolve, reject) =>
        server.getConnections((_, count) => (count === 0 ? resolve(count) : reject(new Error(`${count} open`)))),
      ),
  );

function ownCertificate(): { cert: Buffer; key: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), "rouse-tls-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const made = spawnSync("openssl", ["req", "-x509", ...kind, "-keyout", key, "-out", cert, ...subject]);
  expect(made.status, String(made.stderr)).toBe(0);
  const pair = { cert: readFileSync(cert), key: readFileSync(key) };
  rmSync(folder, { recursive: true });
  return pair;
}
