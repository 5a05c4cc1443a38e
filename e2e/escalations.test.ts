import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { WebhookMessage } from "@rouse/contract";
import { verifyWebhook } from "@rouse/sdk";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { mintAgentToken } from "../packages/daemon/src/home/agent-token.ts";
import { cleanUp } from "./clean-up.ts";
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

/** An orchestrator that answers as it is told to. */
async function orchestrate(answer: (letter: Letter, nth: number) => { status: number; body?: unknown }, port = 0) {
  const letters: Letter[] = [];
  const opened = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const { "rouse-delivery": delivery, "rouse-signature": signature } = request.headers;
    const letter = { delivery: String(delivery), signature: String(signature), body, message: JSON.parse(body) };
    letters.push(letter);
    const { status, body: said } = answer(letter, letters.length);
    response.writeHead(status).end(said === undefined ? undefined : JSON.stringify(said));
  });
  server = opened;
  await new Promise<void>((resolve) => opened.listen(port, "127.0.0.1", resolve));
  return { letters, port: (opened.address() as AddressInfo).port };
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
    const { letters, port } = await orchestrate((_, nth) =>
      nth === 1 ? { status: 500 } : { status: 200, body: { decision: "allow_more_time", actor: "planner" } },
    );
    const daemon = await startDaemon({ config: config(port) });
    const id = await ask(daemon);
    await until("it is decided", async () => (await daemon.events("ESCALATION_DECIDED")).length > 0 || undefined);
    const secret = readFileSync(join(daemon.home, "webhook-secret"), "utf8").trim();
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
    expect(late.stderr).toContain("allow_more_time, by planner");
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
    const secret = readFileSync(join(daemon.home, "webhook-secret"), "utf8").trim();
    const body = '{"decision":"allow_more_time"}';
    const sign = (by: string) => {
      const stamp = Math.floor(Date.now() / 1000);
      return {
        "rouse-signature": `t=${stamp},v1=${createHmac("sha256", by).update(`${stamp}.${id}.${body}`).digest("hex")}`,
      };
    };
    const path = `/escalations/${id}/decision`;
    expect((await sendRequest(daemon, { path, body, headers: sign("somebody else") })).status).toBe(401);
    expect(await daemon.rouse.escalation(id)).toMatchObject({ id });
    expect((await sendRequest(daemon, { path, body, headers: sign(secret) })).status).toBe(200);
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
    const [first, second] = both[0]?.status === 200 ? ["ada", both[1]] : ["bob", both[0]];
    expect(second?.text).toContain(`by ${first}`);
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
