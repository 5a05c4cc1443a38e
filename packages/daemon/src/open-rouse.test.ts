import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WebhookMessage } from "@rouse/contract";
import { verifyWebhook } from "@rouse/sdk";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { signBody } from "./adapters/orchestrator-webhook/post-signed.ts";
import { type EmbeddedRouse, openRouse } from "./open-rouse.ts";

let home: string;
let rouse: EmbeddedRouse | undefined;
let server: Server | undefined;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rouse-embedded-"));
});

afterEach(async () => {
  await rouse?.close();
  server?.closeAllConnections();
  server?.close();
  rmSync(home, { recursive: true });
});

/** Somebody who decides in the answer to the first question; resolves with the letter that brought it. */
async function orchestrate(): Promise<{ port: number; letter: Promise<{ body: string; signature: string }> }> {
  let bring: (letter: { body: string; signature: string }) => void;
  const letter = new Promise<{ body: string; signature: string }>((resolve) => {
    bring = resolve;
  });
  const opened = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    bring({ body: Buffer.concat(chunks).toString(), signature: String(request.headers["rouse-signature"]) });
    const { nonce, id } = JSON.parse(Buffer.concat(chunks).toString()) as { nonce: string; id: string };
    const answer = JSON.stringify({ decision: "allow_more_time", actor: "planner" });
    const secret = readFileSync(join(home, "webhook-secret"), "utf8").trim();
    response.setHeader("rouse-signature", signBody(secret, `${nonce}.${id}.${answer}`, Date.now()));
    response.end(answer);
  });
  server = opened;
  await new Promise<void>((resolve) => opened.listen(0, "127.0.0.1", resolve));
  return { port: (opened.address() as AddressInfo).port, letter };
}

async function ask(opened: EmbeddedRouse, agentId = "worker-1"): Promise<string> {
  await opened.recordHeartbeat({ agentId, status: "RUNNING" });
  return (await opened.escalateToOrchestrator(agentId, "it looks odd")).escalation;
}

describe("a question about an agent, in a program with Rouse inside", () => {
  it("is listed, told, acknowledged and answered, once", async () => {
    rouse = await openRouse({ home });
    const id = await ask(rouse);
    await ask(rouse, "worker-2");
    expect((await rouse.escalations()).map((one) => one.id)).toEqual([id, "worker-2.1"]);
    expect(await rouse.escalations({ agentId: "worker-2" })).toMatchObject([{ id: "worker-2.1" }]);
    expect(await rouse.acknowledge(id)).toEqual({ escalation: id, outcome: "taken" });
    expect(await rouse.escalation(id)).toMatchObject({ id, acknowledged: { actor: "owner" } });
    expect(await rouse.decide(id, { decision: "allow_more_time", actor: "ada" })).toEqual({
      escalation: id,
      outcome: "taken",
    });
    const over = { code: "escalation-closed", message: expect.stringContaining("allow_more_time, by owner") };
    await expect(rouse.decide(id, { decision: "force_handoff" })).rejects.toMatchObject(over);
    await expect(rouse.acknowledge(id)).rejects.toMatchObject(over);
    await expect(rouse.escalation(id)).rejects.toMatchObject(over);
    for (const never of ["worker-1.2", "nobody.1", "", "../1"])
      await expect(rouse.escalation(never), never).rejects.toMatchObject({ code: "escalation-unknown" });
    const wrong = { decision: "kill" } as unknown as Parameters<EmbeddedRouse["decide"]>[1];
    await expect(rouse.decide("worker-2.1", wrong)).rejects.toMatchObject({ code: "bad-request" });
  });

  it("goes to the webhook, signed, and is decided by its answer", async () => {
    const { port, letter } = await orchestrate();
    const config = `health_monitoring: { escalation: { webhook_url: "http://127.0.0.1:${port}/rouse" } }`;
    rouse = await openRouse({ home, config });
    const { onEvents } = rouse;
    const decided = new Promise<unknown>((resolve) => {
      onEvents((events) => {
        const event = events.find(({ type }) => type === "ESCALATION_DECIDED");
        if (event !== undefined) resolve(event.payload);
      });
    });
    const id = await ask(rouse);
    const { body, signature } = await letter;
    expect(JSON.parse(body) as WebhookMessage).toMatchObject({ type: "escalation", id });
    const secret = readFileSync(join(home, "webhook-secret"), "utf8").trim();
    expect(await verifyWebhook(body, signature, secret, Date.now())).toBe("right");
    expect(await decided).toMatchObject({ escalation: id, actor: "orchestrator:webhook" });
  });
});
