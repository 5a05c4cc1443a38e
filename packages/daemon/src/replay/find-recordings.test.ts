import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findRecordings } from "./find-recordings.ts";
import { collectProblems } from "./note-problems.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-recordings-"));
  mkdirSync(join(folder, "runs"));
  for (const name of ["b.jsonl", "a.jsonl", "c.ndjson", "labels.jsonl", "notes.md"])
    writeFileSync(join(folder, "runs", name), "{}\n");
});

afterEach(() => rmSync(folder, { recursive: true }));

function find(...names: string[]) {
  const problems = collectProblems();
  const found = findRecordings(names, folder, Readable.from([]), problems).map(({ name }) => name);
  return { found, told: problems.describe(), faults: problems.faults() };
}

describe("finding recordings", () => {
  it("takes a folder as the recordings in it, by name, without what people say about them", () => {
    expect(find("runs").found).toEqual(["runs/a.jsonl", "runs/b.jsonl", "runs/c.ndjson"]);
  });

  it("takes files and stdin in the order they are named", () => {
    expect(find("runs/b.jsonl", "-", "runs/a.jsonl")).toEqual({
      found: ["runs/b.jsonl", "stdin", "runs/a.jsonl"],
      told: [],
      faults: 0,
    });
  });

  it("reads a file once, however often and under whatever name it comes", () => {
    symlinkSync(join(folder, "runs", "a.jsonl"), join(folder, "other.jsonl"));
    const { found, told, faults } = find("runs/a.jsonl", "other.jsonl", "./runs/a.jsonl", "-", "-");
    expect(found).toEqual(["runs/a.jsonl", "stdin"]);
    expect(told[0]).toBe("other.jsonl: was named before and is read once");
    expect(faults).toBe(0);
  });

  it("says what is not there and goes on with the rest", () => {
    mkdirSync(join(folder, "empty"));
    expect(find("gone.jsonl", "empty", "runs/a.jsonl")).toEqual({
      found: ["runs/a.jsonl"],
      told: ["gone.jsonl: there is no such file", "empty: is a folder without .jsonl or .ndjson files"],
      faults: 2,
    });
  });
});
