import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { join } from "node:path";
import { Fault } from "@rouse/contract";
import { writeWhole } from "@rouse/holder";
import { orUnusable, readIfThere, refuseIfOthersCanRead } from "./secret-files.ts";

/** Signs lines of the audit trail. */
export interface SigningKey {
  /** Ed25519 over a text, in base64. */
  sign(text: string): string;
  /** PEM. */
  readonly publicKey: string;
}

/**
 * The key of this data folder, made on first use. Call it only with the store open, which keeps others out: of two
 * daemons that make a key at once, one would sign with a key that is nowhere on disk.
 */
export function openSigningKey(folder: string): SigningKey {
  const file = join(folder, "audit-key.pem");
  const publicFile = join(folder, "audit-key.pub.pem");
  return orUnusable(`signing key ${file}`, () => {
    const written = readIfThere(publicFile);
    const key = readKey(file) ?? makeKey(file, publicFile, written);
    const publicKey = createPublicKey(key).export({ type: "spki", format: "pem" }) as string;
    if (written === null) writeWhole(publicFile, publicKey);
    else if (written.trim() !== publicKey.trim()) throw unusable(`${publicFile} does not belong to ${file}`);
    return { publicKey, sign: (text) => sign(null, Buffer.from(text), key).toString("base64") };
  });
}

function readKey(file: string): KeyObject | null {
  const text = readIfThere(file);
  if (text === null) return null;
  refuseIfOthersCanRead(
    file,
    "whoever did can sign as this Rouse. Move it and audit-key.pub.pem aside and a new pair is made; what was signed before is checked with the old public key",
  );
  const key = parseKey(text);
  if (key === null) throw unusable(`${file} is not the Ed25519 key that Rouse wrote`);
  return key;
}

function parseKey(text: string): KeyObject | null {
  try {
    const key = createPrivateKey(text);
    return key.asymmetricKeyType === "ed25519" ? key : null;
  } catch {
    return null;
  }
}

/** A new key under an old public one would make every signature so far look forged. */
function makeKey(file: string, publicFile: string, written: string | null): KeyObject {
  if (written !== null) throw unusable(`${file} is missing, but ${publicFile} is there`);
  const { privateKey } = generateKeyPairSync("ed25519");
  writeWhole(file, privateKey.export({ type: "pkcs8", format: "pem" }) as string);
  return privateKey;
}

const unusable = (problem: string): Fault =>
  new Fault(
    "data-folder-unusable",
    `${problem}. Restore both files from a copy; or move both aside: a new pair is made, and what was signed before can be checked only with the old public key`,
  );
