import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { Fault } from "@rouse/contract";
import { writeWhole } from "@rouse/holder";
import { readIfThere } from "./read-if-there.ts";
import { refuseIfOthersCanRead } from "./refuse-if-others-can-read.ts";

/**
 * What messages to the orchestrator are signed with, and what its signed decisions are checked with: made on first use, for its owner only. Not the
 * token: whoever receives messages need not be able to do anything here.
 */
export function openWebhookSecret(folder: string): string {
  const file = join(folder, "webhook-secret");
  try {
    return readSecret(file) ?? makeSecret(file);
  } catch (error) {
    if (error instanceof Fault) throw error;
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new Fault("data-folder-unusable", `cannot use the webhook secret ${file} (${reason})`, { cause: error });
  }
}

function readSecret(file: string): string | null {
  const text = readIfThere(file);
  if (text === null) return null;
  const secret = text.trim();
  if (!/^[\x21-\x7e]{16,256}$/.test(secret)) {
    throw new Fault(
      "data-folder-unusable",
      `the webhook secret in ${file} is not usable; write 16 to 256 plain characters into it, or remove it and a new one is made`,
    );
  }
  refuseIfOthersCanRead(
    file,
    "whoever did can decide for the orchestrator. Remove it and a new one is made, for the receiver to copy",
  );
  return secret;
}

function makeSecret(file: string): string {
  const secret = randomBytes(32).toString("base64url");
  writeWhole(file, `${secret}\n`);
  return secret;
}
