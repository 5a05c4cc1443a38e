import { execFileSync } from "node:child_process";
import { appendFileSync, mkdtempSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { tailFile } from "./tail-file.ts";

const folder = mkdtempSync(join(tmpdir(), "rouse-tail-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const fresh = (): string => join(folder, `${++files}.jsonl`);

describe("a file that somebody else writes", () => {
  it("gives whole lines once, and waits for the end of the last", () => {
    const file = fresh();
    writeFileSync(file, "one\ntw");
    const tail = tailFile(file);
    expect(tail.look()).toEqual(["one"]);
    expect(tail.look()).toEqual([]);
    appendFileSync(file, "o\nthree\n");
    expect(tail.look()).toEqual(["two", "three"]);
  });

  it("is read from its beginning when it was shortened or replaced", () => {
    const file = fresh();
    writeFileSync(file, "a long first line\nhalf");
    const tail = tailFile(file);
    tail.look();
    truncateSync(file);
    appendFileSync(file, "anew\n");
    expect(tail.look()).toEqual(["anew"]);
    writeFileSync(`${file}.new`, "another file, and longer than before\n");
    renameSync(`${file}.new`, file);
    expect(tail.look()).toEqual(["another file, and longer than before"]);
  });

  it("says nothing while it is not there", () => {
    const file = fresh();
    const tail = tailFile(file);
    expect(tail.look()).toEqual([]);
    writeFileSync(file, "here\n");
    expect(tail.look()).toEqual(["here"]);
  });

  it("is read to its end however long it is, from not too far back, and a line that is too long harms no other", () => {
    const file = fresh();
    writeFileSync(file, `first\n${"old\n".repeat(3_000_000)}last\n`);
    const tail = tailFile(file);
    const lines: string[] = [];
    for (let seen = -1; seen !== lines.length; ) {
      seen = lines.length;
      lines.push(...tail.look());
    }
    expect(lines).not.toContain("first");
    expect(lines.at(-1)).toBe("last");
    appendFileSync(file, `${"x".repeat(3_000_000)}\nnext\n`);
    const after = [...tail.look(), ...tail.look()];
    expect(after.at(-1)).toBe("next");
    expect(after[0]?.length).toBeLessThanOrEqual(1024 * 1024);
  });

  it("is not waited for when it is a pipe that nobody writes into", () => {
    const file = fresh();
    execFileSync("mkfifo", [file]);
    expect(tailFile(file).look()).toEqual([]);
  });
});
