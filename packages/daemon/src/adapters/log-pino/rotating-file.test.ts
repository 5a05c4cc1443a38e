import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openRotatingFile } from "./rotating-file.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-log-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const path = () => join(folder, "rouse.log");
const read = (name: string): string => readFileSync(join(folder, name), "utf8");
const wordLoss = (lines: number, reason: string): string => `lost ${lines} (${reason})\n`;
const open = (maxBytes = 10, keep = 2) => openRotatingFile({ path: path(), maxBytes, keep, wordLoss });

describe("a log that rotates by its size", () => {
  it("begins a new file before one grows beyond its size, and keeps as many older ones as it was told", () => {
    const file = open();
    for (const line of ["one\n", "two\n", "three\n", "four\n", "five\n", "six\n", "seven\n"]) file.write(line);
    expect(readdirSync(folder).sort()).toEqual(["rouse.log", "rouse.log.1", "rouse.log.2"]);
    expect([read("rouse.log.2"), read("rouse.log.1"), read("rouse.log")]).toEqual([
      "three\n",
      "four\nfive\n",
      "six\nseven\n",
    ]);
    for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  });

  it("goes on in a file that was there, counting what is in it", () => {
    open().write("before\n");
    open().write("after\n");
    expect([read("rouse.log.1"), read("rouse.log")]).toEqual(["before\n", "after\n"]);
  });

  it("keeps a line whole that is longer than a file may be", () => {
    const file = open();
    file.write("much longer than ten bytes\n");
    file.write("short\n");
    expect([read("rouse.log.1"), read("rouse.log")]).toEqual(["much longer than ten bytes\n", "short\n"]);
    expect(readdirSync(folder).sort()).toEqual(["rouse.log", "rouse.log.1"]);
  });

  it("begins anew when somebody moves or removes the file", () => {
    const file = open(1000);
    file.write("one\n");
    renameSync(path(), join(folder, "moved"));
    file.write("two\n");
    rmSync(path());
    file.write("three\n");
    expect([read("moved"), read("rouse.log")]).toEqual(["one\n", "three\n"]);
    renameSync(path(), join(folder, "moved"));
    writeFileSync(path(), "new\n");
    file.write("four\n");
    expect([read("moved"), read("rouse.log")]).toEqual(["three\n", "new\nfour\n"]);
  });

  it("loses what cannot be written without failing, and says so with the next line that can", () => {
    const file = open(1000);
    file.write("one\n");
    rmSync(folder, { recursive: true });
    file.write("two\n");
    file.write("three\n");
    mkdirSync(folder);
    file.write("four\n");
    file.write("five\n");
    expect(read("rouse.log")).toBe("lost 2 (ENOENT)\nfour\nfive\n");
  });
});
