import { generateKeyPairSync, sign } from "node:crypto";
import type { PresetName } from "@rouse/contract";
import { type Config, readConfig, requireConfig } from "../packages/daemon/src/config/read-config.ts";
import type { SigningKey } from "../packages/daemon/src/home/signing-key.ts";

/** Policies that let less be done, for agents that are started with them. */
const policies =
  "policies:\n  assisted: { mode: assist }\n  watched: { mode: observe }\n  guarded: { protected: true }\n";

export const configFor = (preset: PresetName): Config =>
  requireConfig(
    readConfig({ file: { name: "sim", text: `preset: ${preset}\n${preset === "default" ? policies : ""}` } }),
  );

/** A real one: what is signed in a simulation can be checked after it. */
export function makeSigningKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString("base64"),
    publicKey: publicKey.export({ type: "spki", format: "pem" }) as string,
  };
}
