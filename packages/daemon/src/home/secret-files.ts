import { randomBytes } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "@rouse/contract";
import { writeWhole } from "@rouse/holder";

/** The text of a small file; `null` when there is none. */
export function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** A chmod now would only hide that others may have read the secret. `so`: what follows from that, and what to do. */
export function refuseIfOthersCanRead(file: string, so: string): void {
  const { mode } = statSync(file);
  if ((mode & 0o077) === 0) return;
  throw new Fault(
    "data-folder-unusable",
    `others may read ${file} (mode ${(mode & 0o777).toString(8)}), and ${so}. If certainly nobody has read it: chmod 600 ${file}`,
  );
}

/** A system error becomes a fault that says what cannot be used; `remedy` says what to do. */
export function orUnusable<T>(what: string, use: () => T, remedy = ""): T {
  try {
    return use();
  } catch (error) {
    if (error instanceof Fault) throw error;
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new Fault("data-folder-unusable", `cannot use the ${what} (${reason})${remedy}`, { cause: error });
  }
}

/** A secret of plain characters, made on first use. `unusable`, `so`: what to say of a bad or a readable file. */
export function readOrMakeSecret(file: string, unusable: string, so: string): string {
  const secret = readIfThere(file)?.trim() ?? null;
  if (secret === null) return makeSecret(file);
  if (!/^[\x21-\x7e]{16,256}$/.test(secret)) throw new Fault("data-folder-unusable", unusable);
  refuseIfOthersCanRead(file, so);
  return secret;
}

export function makeSecret(file: string): string {
  const secret = randomBytes(32).toString("base64url");
  writeWhole(file, `${secret}\n`);
  return secret;
}

/**
 * Signs messages to the orchestrator, and its signed decisions are checked with it. It is not the token: a receiver of
 * messages need not be able to do anything here.
 */
export function openWebhookSecret(folder: string): string {
  const file = join(folder, "webhook-secret");
  return orUnusable(`webhook secret ${file}`, () =>
    readOrMakeSecret(
      file,
      `the webhook secret in ${file} is not usable; write 16 to 256 plain characters into it, or remove it and a new one is made`,
      "whoever did can decide for the orchestrator. Remove it and a new one is made, for the receiver to copy",
    ),
  );
}
