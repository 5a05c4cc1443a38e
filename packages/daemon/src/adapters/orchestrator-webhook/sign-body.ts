import { createHmac } from "node:crypto";
import type { EpochMs } from "@rouse/contract";

/** The value of `Rouse-Signature`. The time is signed with the body, so that a copy sent again later is known to be old. */
export function signBody(secret: string, body: string, at: EpochMs): string {
  const stamp = Math.floor(at / 1000);
  return `t=${stamp},v1=${createHmac("sha256", secret).update(`${stamp}.${body}`).digest("hex")}`;
}
