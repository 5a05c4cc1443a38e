import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { verifyWebhook } from "./verify-webhook.ts";

const secret = "s3cret-s3cret-s3cret";
const body = '{"type":"escalation","id":"worker-1.3","summary":"größer"}';
const now = Date.parse("2026-02-05T10:30:00Z");
const sentAt = now / 1000;

const hmac = (text: string, at: number | string, by = secret): string =>
  createHmac("sha256", by).update(`${at}.${text}`).digest("hex");
const header = (text = body, at: number | string = sentAt, by = secret): string => `t=${at},v1=${hmac(text, at, by)}`;

describe("a signed message", () => {
  it("is right when it is as it was sent, as text and as bytes", async () => {
    expect(await verifyWebhook(body, header(), secret, now)).toBe("right");
    expect(await verifyWebhook(new TextEncoder().encode(body), header(), secret, now)).toBe("right");
    expect(await verifyWebhook(Buffer.from(body), header(), secret, now)).toBe("right");
  });

  it("is wrong when one letter, the secret, the time or the signature is another", async () => {
    const [stamp, signature = ""] = header().split(",");
    const nearly = signature.slice(0, -1) + (signature.endsWith("0") ? "1" : "0");
    expect(await verifyWebhook(`${body} `, header(), secret, now)).toBe("wrong");
    expect(await verifyWebhook(body, header(body, sentAt, `${secret}x`), secret, now)).toBe("wrong");
    expect(await verifyWebhook(body, header().replace(/^t=\d+/, `t=${sentAt + 1}`), secret, now)).toBe("wrong");
    expect(await verifyWebhook(body, `${stamp},${nearly}`, secret, now)).toBe("wrong");
  });

  it("is too old after five minutes, or after as long as one says, and no better when it comes from the future", async () => {
    for (const [at, tolerance, verdict] of [
      [sentAt - 300, undefined, "right"],
      [sentAt - 301, undefined, "too-old"],
      [sentAt + 300, undefined, "right"],
      [sentAt + 301, undefined, "too-old"],
      [sentAt - 11, 10, "too-old"],
      [sentAt - 301, 400, "right"],
    ] as const) {
      expect(await verifyWebhook(body, header(body, at), secret, now, tolerance), `${at}`).toBe(verdict);
    }
  });

  it("is not told to be too old by somebody without the secret", async () => {
    expect(await verifyWebhook(body, header(body, 1, "another"), secret, now)).toBe("wrong");
  });

  it("may carry signatures of versions to come beside its own", async () => {
    const [stamp, signature] = header().split(",");
    expect(await verifyWebhook(body, `${stamp}, v2=x-y, ${signature}`, secret, now)).toBe("right");
  });

  it.each<[string, string | null | undefined]>([
    ["is missing", undefined],
    ["is null", null],
    ["is empty", ""],
    ["is no header of ours", "sha256=abc"],
    ["has no time", `v1=${hmac(body, sentAt)}`],
    ["has no signature", `t=${sentAt}`],
    ["has two times", `t=1,${header()}`],
    ["has two signatures", `${header()},v1=${hmac(body, sentAt)}`],
    ["has a time that is no number", header(body, "1e9")],
    ["has a signature that is cut off", header().slice(0, -2)],
    ["has a signature that is no hex", `t=${sentAt},v1=${"g".repeat(64)}`],
    ["is endless", `${header()},x=${"y".repeat(2000)}`],
  ])("is malformed when its header %s", async (_, given) => {
    expect(await verifyWebhook(body, given, secret, now)).toBe("malformed");
  });

  it("is never right without a secret", async () => {
    expect(await verifyWebhook(body, header(), "", now)).toBe("malformed");
  });
});
