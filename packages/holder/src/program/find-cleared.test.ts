import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findCleared } from "./find-session-file.ts";

const at = Date.parse("2026-11-18T05:47:11.222Z");
const left = "a47ee4a2-edeb-42d3-9a96-6c6c5a3692b6";
const next = "c9ee21e1-80e2-4fc8-91fc-370b62b1ebb5";
const third = "15a39bc7-bd88-4ab5-977b-8b50cbd1cd1f";
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-cleared-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const fileOf = (id: string): string => join(folder, `${id}.jsonl`);

/** As Claude Code 2.1.325 writes it, without what is not read. */
function keep(id: string, content: string, timestamp = "2026-11-18T05:47:11.188Z"): void {
  const lines = [
    { type: "mode", mode: "normal", sessionId: id },
    { type: "user", message: { role: "user", content: "<local-command-caveat>…" }, isMeta: true, timestamp },
    { type: "user", message: { role: "user", content }, timestamp, entrypoint: "cli", sessionId: id },
  ];
  writeFileSync(fileOf(id), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

const clear = "<command-name>/clear</command-name>\n            <command-message>clear</command-message>";

describe("the conversation after one that was cleared", () => {
  it("is the one that begins with that command, of that moment", () => {
    keep(left, "remember the word banana");
    expect(findCleared(fileOf(left), at)).toBeNull();
    keep(next, clear);
    keep(third, clear, "2026-11-18T05:40:00.000Z");
    expect(findCleared(fileOf(left), at)).toBe(fileOf(next));
  });

  it("is none that speaks of the command, and not the one that was left", () => {
    keep(left, clear);
    keep(next, `what does ${clear} mean?`);
    expect(findCleared(fileOf(left), at)).toBeNull();
  });

  it("is nobody's where two were cleared at one moment", () => {
    keep(next, clear);
    keep(third, clear, "2026-11-18T05:47:12.900Z");
    expect(findCleared(fileOf(left), at)).toBeNull();
  });
});
