import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openPlainFile, readBounded, readPlainText } from "./read-plain-file.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-plain-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (text: string): string => {
  writeFileSync(join(folder, "a"), text);
  return join(folder, "a");
};
const pipe = (): string => {
  execFileSync("mkfifo", [join(folder, "pipe")]);
  return join(folder, "pipe");
};

describe("a file that somebody else can replace", () => {
  it("is read whole up to the longest that is believed, and not at all beyond", async () => {
    const file = write("12345");
    expect([readPlainText(file, 5), readPlainText(file, 4)]).toEqual(["12345", null]);
    for (const [longest, text] of [
      [5, "12345"],
      [4, undefined],
    ] as const) {
      const handle = await openPlainFile(file);
      expect(handle && (await readBounded(handle, longest))?.toString()).toBe(text);
      await handle?.close();
    }
  });

  it("is not read where it is a pipe, a folder, a device or not there", async () => {
    for (const file of [pipe(), folder, "/dev/zero"]) {
      expect(readPlainText(file)).toBeNull();
      expect(await openPlainFile(file)).toBeNull();
    }
    expect(readPlainText(join(folder, "none"))).toBeNull();
    await expect(openPlainFile(join(folder, "none"))).rejects.toThrow("ENOENT");
  });
});
