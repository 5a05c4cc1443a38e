import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault } from "@rouse/contract";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSigningKey } from "./signing-key.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-key-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const file = () => join(folder, "audit-key.pem");
const publicFile = () => join(folder, "audit-key.pub.pem");

function refusal(): Fault {
  try {
    openSigningKey(folder);
  } catch (error) {
    expect(error).toBeInstanceOf(Fault);
    return error as Fault;
  }
  throw new Error("it was opened");
}

describe("the signing key", () => {
  it("is made on first use, for its owner only, and is the same ever after", () => {
    const first = openSigningKey(folder);
    expect(readdirSync(folder).sort()).toEqual(["audit-key.pem", "audit-key.pub.pem"]);
    for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    expect(readFileSync(publicFile(), "utf8")).toBe(first.publicKey);
    const again = openSigningKey(folder);
    expect(again.publicKey).toBe(first.publicKey);
    expect(again.sign("text")).toBe(first.sign("text"));
  });

  it("signs so that whoever has the public key can tell", () => {
    const { sign, publicKey } = openSigningKey(folder);
    const signature = Buffer.from(sign("text"), "base64");
    expect(verify(null, Buffer.from("text"), createPublicKey(publicKey), signature)).toBe(true);
    expect(verify(null, Buffer.from("texts"), createPublicKey(publicKey), signature)).toBe(false);
  });

  it("is refused, and left as it is, when others may have read it", () => {
    openSigningKey(folder);
    for (const mode of [0o640, 0o604]) {
      chmodSync(file(), mode);
      const fault = refusal();
      expect(fault.code).toBe("data-folder-unusable");
      expect(fault.message).toMatch(/others may read .*a new pair is made.*chmod 600 /i);
      expect(statSync(file()).mode & 0o777).toBe(mode);
    }
  });

  it("gets its public half back when that is missing, as after a death between the two", () => {
    const { publicKey } = openSigningKey(folder);
    rmSync(publicFile());
    expect(openSigningKey(folder).publicKey).toBe(publicKey);
    expect(readFileSync(publicFile(), "utf8")).toBe(publicKey);
  });

  it.each<[string, () => void, RegExp]>([
    ["is empty", () => writeFileSync(file(), ""), /audit-key\.pem is not the Ed25519 key/],
    ["is cut off", () => writeFileSync(file(), readFileSync(file(), "utf8").slice(0, 60)), /is not the Ed25519 key/],
    ["is of another kind", () => writeFileSync(file(), otherKind()), /is not the Ed25519 key/],
    ["is missing while its public half is there", () => rmSync(file()), /audit-key\.pem is missing/],
    ["is another one", () => writeFileSync(file(), otherKey()), /audit-key\.pub\.pem does not belong to/],
    ["is a folder", () => replaceByFolder(file()), /signing key .*EISDIR/],
  ])("is refused, with what to do, when it %s", (_, damage, message) => {
    openSigningKey(folder);
    damage();
    const before = readdirSync(folder);
    const fault = refusal();
    expect(fault.code).toBe("data-folder-unusable");
    expect(fault.message).toMatch(message);
    expect(fault.message).not.toContain("PRIVATE KEY");
    expect(readdirSync(folder)).toEqual(before);
  });

  it("says so when the folder cannot be used", () => {
    rmSync(folder, { recursive: true });
    expect(refusal()).toMatchObject({ code: "data-folder-unusable", message: expect.stringContaining("ENOENT") });
  });
});

const otherKey = () => generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" });
const otherKind = () => generateKeyPairSync("x25519").privateKey.export({ type: "pkcs8", format: "pem" });

function replaceByFolder(path: string): void {
  rmSync(path);
  mkdirSync(path);
}
