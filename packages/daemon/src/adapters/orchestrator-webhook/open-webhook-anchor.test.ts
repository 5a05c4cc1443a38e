import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { verifyWebhook } from "@rouse/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { sealOfLine } from "../../ports/anchors.conformance.ts";
import { systemClock, systemTimers } from "../clock-system/system-clock.ts";
import { openWebhookAnchor } from "./open-webhook-anchor.ts";

const secret = "s3cret-s3cret-s3cret";
let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function receive(status: number) {
  const letters: { delivery: unknown; signature: string; body: string }[] = [];
  const opened = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { "rouse-delivery": delivery, "rouse-signature": signature } = request.headers;
    letters.push({ delivery, signature: String(signature), body: Buffer.concat(chunks).toString() });
    response.writeHead(status).end();
  });
  server = opened;
  await new Promise<void>((resolve) => opened.listen(0, "127.0.0.1", resolve));
  return { letters, to: new URL(`http://127.0.0.1:${(opened.address() as AddressInfo).port}/hooks/s3cret-path`) };
}

const anchorAt = (to: URL) => openWebhookAnchor({ to, secret, clock: systemClock, timers: systemTimers });
const place = (to: URL) => anchorAt(to).place(sealOfLine(66), AbortSignal.timeout(30_000));

describe("an anchor behind a webhook", () => {
  it("gets the seal, signed as everything we send, under a name that tells it from others", async () => {
    const { letters, to } = await receive(204);
    await place(to);
    const [{ delivery, signature, body } = { delivery: "", signature: "", body: "" }] = letters;
    expect(delivery).toBe("store-1/66");
    expect(JSON.parse(body)).toEqual(sealOfLine(66));
    expect(await verifyWebhook(body, signature, secret, Date.now())).toBe("right");
  });

  it("that does not take it is said by its host, never by its path", async () => {
    const { to } = await receive(500);
    await expect(place(to)).rejects.toThrow(`${to.origin} answered 500`);
    server?.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve));
    const message = await place(to).catch((error: Error) => error.message);
    expect(message).toMatch(/cannot be reached \(ECONNREFUSED\)/);
    expect(message).not.toContain("s3cret-path");
  });

  it("is not waited for once we stop", async () => {
    const { to } = await receive(204);
    await expect(anchorAt(to).place(sealOfLine(1), AbortSignal.abort())).rejects.toThrow();
  });

  it("cannot be asked for what it got", async () => {
    expect(await anchorAt(new URL("https://seals.example.com")).read()).toBeNull();
  });
});
