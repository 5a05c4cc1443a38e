import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { writeWhole } from "../write-whole.ts";

/**
 * What whoever connects to a holder must show: made anew for each life, in a file that only its owner can read. It stands in for asking the
 * system who the peer is: Node cannot read SO_PEERCRED.
 */
export function makeSecret(file: string): string {
  const secret = randomBytes(32).toString("hex");
  writeWhole(file, secret);
  return secret;
}

/** `""` when it cannot be read: the holder then says what it thinks of that. */
export function readSecret(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** Takes as long for a nearly right one as for a wrong one. */
export const isSecret = (given: string, secret: string): boolean => timingSafeEqual(digest(given), digest(secret));

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
