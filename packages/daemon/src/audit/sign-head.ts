import { createPublicKey, type KeyObject, verify } from "node:crypto";
import type { AuditPlace } from "../ports/store.ts";

/** What is signed when the trail is given away: how far it went at that time. */
export const headText = (store: string, { number, hash }: AuditPlace, time: string): string =>
  `rouse audit head ${store} ${number} ${hash} ${time}`;

/** `null`: it is none of ours. */
export function readPublicKey(pem: string): KeyObject | null {
  try {
    const key = createPublicKey(pem);
    return key.asymmetricKeyType === "ed25519" ? key : null;
  } catch {
    return null;
  }
}

export function isSignedBy(key: KeyObject, text: string, signature: string): boolean {
  const bytes = Buffer.from(signature, "base64");
  // Base64 can be written in more than one way; ours is written in one.
  return bytes.toString("base64") === signature && verify(null, Buffer.from(text), key, bytes);
}
