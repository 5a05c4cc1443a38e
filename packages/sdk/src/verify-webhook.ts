import type { EpochMs } from "@rouse/contract";

/** `too-old`: signed with the right secret, but longer ago (or further ahead) than is tolerated. */
export type WebhookVerdict = "right" | "wrong" | "too-old" | "malformed";

const longestHeader = 1000;

/**
 * Whether a message was signed with the secret, is unchanged, and was sent lately. `body` is the body as it arrived,
 * byte for byte: JSON that was parsed and printed again is another text. `header` is the value of `Rouse-Signature`.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  header: string | null | undefined,
  secret: string,
  now: EpochMs,
  toleranceSeconds = 300,
): Promise<WebhookVerdict> {
  const claim = readHeader(header);
  if (claim === null || secret === "") return "malformed";
  if (!(await isSigned(body, claim, secret))) return "wrong";
  return Math.abs(now / 1000 - claim.at) <= toleranceSeconds ? "right" : "too-old";
}

interface Claim {
  /** As it was written, because the text was signed. */
  readonly stamp: string;
  /** Unix seconds. */
  readonly at: number;
  readonly signature: Uint8Array<ArrayBuffer>;
}

/** `t=1771234567,v1=<64 hex digits>`. Parts with other names belong to later versions. */
function readHeader(header: string | null | undefined): Claim | null {
  if (header == null || header.length > longestHeader) return null;
  const parts = header.split(",").map((part) => part.trim());
  const [stamp, ...otherStamps] = valuesOf(parts, "t");
  const [hex, ...others] = valuesOf(parts, "v1");
  if (stamp === undefined || hex === undefined || otherStamps.length + others.length > 0) return null;
  if (!/^\d{1,12}$/.test(stamp) || !/^[0-9a-f]{64}$/.test(hex)) return null;
  return { stamp, at: Number(stamp), signature: bytesOf(hex) };
}

const valuesOf = (parts: readonly string[], name: string): string[] =>
  parts.filter((part) => part.startsWith(`${name}=`)).map((part) => part.slice(name.length + 1));

const bytesOf = (hex: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length: hex.length / 2 }, (_, i) => Number.parseInt(hex.slice(i * 2, i * 2 + 2), 16));

/** WebCrypto compares in constant time. */
async function isSigned(body: string | Uint8Array, { stamp, signature }: Claim, secret: string): Promise<boolean> {
  const { subtle } = globalThis.crypto;
  const key = await subtle.importKey("raw", encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  return subtle.verify("HMAC", key, signature, join(encode(`${stamp}.`), encode(body)));
}

const encode = (text: string | Uint8Array): Uint8Array<ArrayBuffer> =>
  typeof text === "string" ? new TextEncoder().encode(text) : Uint8Array.from(text);

function join(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
