import { createHmac } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { WebhookMessage } from "@rouse/contract";
import { verifyWebhook } from "@rouse/sdk";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { mintAgentToken } from "../packages/daemon/src/home/agent-token.ts";
import { cleanUp, makeFolder } from "./clean-up.ts";
import { repository, startProgram } from "./run-rouse.ts";
import { sendRequest } from "./send-request.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

interface Letter {
  readonly delivery: string;
  readonly signature: string;
  readonly body: string;
  readonly message: WebhookMessage;
}

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});
afterAll(cleanUp);

function sign(secret: string, text: string): string {
  const stamp = Math.floor(Date.now() / 1000);
  return `t=${stamp},v1=${createHmac("sha256", secret).update(`${stamp}.${text}`).digest("hex")}`;
}

const secretOf = ({ home }: Daemon): string => readFileSync(join(home, "webhook-secret"), "utf8").trim();

/** An orchestrator that answers as it is told to, signed with a secret or not. */
async function orchestrate(
  answer: (letter: Letter, nth: number) => { status: number; body?: unknown },
  secret?: () => string,
) {
  const letters: Letter[] = [];
  const opened = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const { "rouse-delivery": delivery, "rouse-signature": signature } = request.headers;
    const letter = { delivery: String(delivery), signature: String(signature), body, message: JSON.parse(body) };
    letters.push(letter);
    const { status, body: said } = answer(letter, letters.length);
    const text = said === undefined ? undefined : JSON.stringify(said);
    if (text !== undefined && secret !== undefined && letter.message.type === "escalation")
      response.setHeader("rouse-signature", sign(secret(), `${letter.message.nonce}.${letter.message.id}.${text}`));
    response.writeHead(status).end(text);
  });
  server = opened;
  await new Promise<void>((resolve) => opened.listen(0, "127.0.0.1", resolve));
  return { letters, port: (opened.address() as AddressInfo).port };
}

async function freePort(): Promise<number> {
  const holding = createServer();
  await new Promise<void>((resolve) => holding.listen(0, "127.0.0.1", resolve));
  const { port } = holding.address() as AddressInfo;
  await new Promise((resolve) => holding.close(resolve));
  return port;
}

const config = (port: number): string => `
health_monitoring:
  escalation: { webhook_url: "http://127.0.0.1:${port}/rouse" }
`;

const ask = async (daemon: Daemon): Promise<string> => {
  await daemon.rouse.recordHeartbeat({ agentId: "worker-1", status: "RUNNING" });
  return (await daemon.rouse.escalateToOrchestrator("worker-1", "it looks odd")).escalation;
};

describe("an orchestrator behind a webhook", () => {
  it("gets a question that it can trust, and decides it in its answer", async () => {
    const { letters, port } = await orchestrate(
      (_, nth) =>
        nth === 1 ? { status: 500 } : { status: 200, body: { decision: "allow_more_time", actor: "planner" } },
      () => secretOf(daemon),
    );
    const daemon = await startDaemon({ config: config(port) });
    const id = await ask(daemon);
    await until("it is decided", async () => (await daemon.events("ESCALATION_DECIDED")).length > 0 || undefined);
    const secret = secretOf(daemon);
    await until("the withdrawal arrives", () => letters.length === 3 || undefined);
    for (const { body, signature } of letters)
      expect(await verifyWebhook(body, signature, secret, Date.now())).toBe("right");
    expect(letters.map(({ delivery }) => delivery)).toEqual([id, id, `${id}/over`]);
    expect(letters[0]?.message).toMatchObject({
      type: "escalation",
      id,
      context: { config: { settings: { mode: "act" } } },
    });
    expect(letters[0]?.body).not.toContain(`127.0.0.1:${port}`);
    const late = await daemon.cli("escalations", "decide", id, "force_handoff");
    expect(late.code).toBe(1);
    expect(late.stderr).toContain("allow_more_time, by orchestrator:webhook");
  });

  it("cannot be played by somebody else at its address: a decision without its signature stops nobody", async () => {
    const { letters, port } = await orchestrate(() => ({
      status: 200,
      body: { decision: "terminate_and_recover", actor: "root" },
    }));
    const daemon = await startDaemon({ config: config(port) });
    const id = await ask(daemon);
    const [refused] = await until("it is refused", async () => {
      const events = await daemon.events("ESCALATION_ANSWER_REFUSED");
      return events.length > 0 ? events : undefined;
    });
    expect(refused?.payload).toEqual({ agentId: "worker-1", escalation: id, because: "unsigned" });
    expect(letters[0]?.message).toMatchObject({ id });
    const printed = () => daemon.process.stderr() + daemon.process.stdout();
    await until("a person is told", () => printed().includes("a person is needed") || undefined);
    expect(printed()).toContain("is not signed");
    expect((await daemon.rouse.escalations()).map((one) => one.id)).toEqual([id]);
    expect(await daemon.events("ESCALATION_DECIDED", "TERMINATION_ORDERED")).toEqual([]);
    expect((await daemon.cli("audit", "list")).stdout).toContain("escalation-answer-refused");
  });

  it("is a few lines: the example in the documentation checks the question and signs its answer", async () => {
    const page = readFileSync(join(repository, "docs", "escalations.md"), "utf8");
    const example = /```js\n([^`]*createServer(?:[^`]|`(?!``))*)```/.exec(page)?.[1] ?? "";
    const folder = makeFolder();
    const secret = "one-secret-for-both-sides";
    writeFileSync(join(folder, "webhook-secret"), `${secret}\n`);
    writeFileSync(
      join(folder, "orchestrator.mjs"),
      example.replace(".listen(8080,", ".listen(Number(process.env.PORT),"),
    );
    const port = await freePort();
    const home = join(folder, "home");
    const environment = { PORT: String(port) };
    const running = startProgram(process.execPath, [join(folder, "orchestrator.mjs")], { home, environment });
    mkdirSync(home, { mode: 0o700 });
    writeFileSync(join(home, "webhook-secret"), `${secret}\n`, { mode: 0o600 });
    const daemon = await startDaemon({ home, config: config(port) });
    await ask(daemon);
    const [decided] = await until("the example decides", async () => {
      const events = await daemon.events("ESCALATION_DECIDED");
      return events.length > 0 ? events : undefined;
    });
    expect(decided?.payload).toMatchObject({ actor: "orchestrator:webhook", decision: "allow_more_time" });
    const forged = await sendRequest({ url: `http://127.0.0.1:${port}`, token: "" }, { path: "/", body: "{}" });
    expect(forged.status).toBe(401);
    expect(running.stderr()).toBe("");
  });

  it("that was down is asked again by the next monitor, with the same question", async () => {
    const daemon = await startDaemon({ config: config(1) });
    const id = await ask(daemon);
    await daemon.end("SIGKILL");
    const { letters, port } = await orchestrate(() => ({ status: 204 }));
    const again = await startDaemon({ home: daemon.home, config: config(port) });
    await until("it is asked", () => letters.length > 0 || undefined);
    expect(letters[0]?.delivery).toBe(id);
    expect((await again.rouse.escalations()).map((one) => one.id)).toEqual([id]);
  });

  it("signs its decisions, and a forged one decides nothing and is on record", async () => {
    const daemon = await startDaemon();
    const id = await ask(daemon);
    const body = '{"decision":"allow_more_time"}';
    const signedBy = (by: string) => ({ "rouse-signature": sign(by, `${id}.${body}`) });
    const path = `/escalations/${id}/decision`;
    expect((await sendRequest(daemon, { path, body, headers: signedBy("somebody else") })).status).toBe(401);
    expect(await daemon.rouse.escalation(id)).toMatchObject({ id });
    expect((await sendRequest(daemon, { path, body, headers: signedBy(secretOf(daemon)) })).status).toBe(200);
    expect((await daemon.cli("audit", "list")).stdout).toContain(id);
  });

  it("is one; of two people at once the second is told of the first", async () => {
    const daemon = await startDaemon();
    const id = await ask(daemon);
    const both = await Promise.all(
      ["ada", "bob"].map((actor) =>
        sendRequest(daemon, {
          path: `/api/v1/escalations/${id}/decision`,
          body: JSON.stringify({ decision: "allow_more_time", actor }),
        }),
      ),
    );
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    expect(both.find(({ status }) => status === 409)?.text).toContain("by owner");
  });

  it("is not an agent: its own token answers a nudge and nothing else", async () => {
    const daemon = await startDaemon();
    const id = await ask(daemon);
    const target = {
      url: daemon.url,
      token: mintAgentToken(daemon.token, { agentId: "worker-1", taskId: null, incarnation: 1 }),
    };
    const said = await sendRequest(target, {
      path: "/api/v1/agents/worker-1/answers",
      body: '{"kind":"update","text":"on it"}',
    });
    expect(said).toMatchObject({ status: 200, json: { status: "accepted" } });
    for (const sent of [
      { path: "/escalations" },
      { path: `/api/v1/escalations/${id}` },
      { path: `/escalations/${id}/decision`, body: '{"decision":"allow_more_time"}' },
      { path: `/api/v1/escalations/${id}/acknowledge`, body: "{}" },
      { path: "/api/v1/agents/worker-1/nudge", body: "{}" },
      { path: "/api/v1/agents/worker-2/answers", body: '{"kind":"update"}' },
    ])
      expect((await sendRequest(target, sent)).status, sent.path).toBe(403);
  });
});
