import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault } from "@rouse/contract";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openWebhookSecret } from "./secret-files.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-webhook-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const file = () => join(folder, "webhook-secret");

function refusal(): Fault {
  try {
    openWebhookSecret(folder);
  } catch (error) {
    expect(error).toBeInstanceOf(Fault);
    return error as Fault;
  }
  throw new Error("it was opened");
}

describe("the webhook secret", () => {
  it("is made on first use, for its owner only, and is the same ever after", () => {
    const first = openWebhookSecret(folder);
    expect(first).toMatch(/^[\w-]{43}$/);
    expect(readdirSync(folder)).toEqual(["webhook-secret"]);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(readFileSync(file(), "utf8")).toBe(`${first}\n`);
    expect(openWebhookSecret(folder)).toBe(first);
  });

  it("may be one that the receiver chose", () => {
    writeFileSync(file(), "  chosen-by-the-receiver  \n", { mode: 0o600 });
    expect(openWebhookSecret(folder)).toBe("chosen-by-the-receiver");
  });

  it("is refused, and left as it is, when others may have read it", () => {
    openWebhookSecret(folder);
    for (const mode of [0o640, 0o604]) {
      chmodSync(file(), mode);
      const fault = refusal();
      expect(fault.code).toBe("data-folder-unusable");
      expect(fault.message).toMatch(/others may read .*remove it and a new one is made.*chmod 600 /i);
      expect(statSync(file()).mode & 0o777).toBe(mode);
    }
  });

  it.each<[string, () => void]>([
    ["is empty", () => writeFileSync(file(), "")],
    ["is too short to be one", () => writeFileSync(file(), "hunter2-hunter2")],
    ["is two words", () => writeFileSync(file(), "hunter2-hunter2 hunter2-hunter2")],
    ["is endless", () => writeFileSync(file(), "hunter2".repeat(40))],
  ])("is refused, with what to do and without being quoted, when it %s", (_, damage) => {
    damage();
    const fault = refusal();
    expect(fault.code).toBe("data-folder-unusable");
    expect(fault.message).toContain("remove it and a new one is made");
    expect(fault.message).not.toContain("hunter2");
  });

  it("says so when its place cannot be used", () => {
    mkdirSync(file());
    expect(refusal()).toMatchObject({ code: "data-folder-unusable", message: expect.stringContaining("EISDIR") });
    rmSync(folder, { recursive: true });
    expect(refusal()).toMatchObject({ code: "data-folder-unusable", message: expect.stringContaining("ENOENT") });
  });
});
