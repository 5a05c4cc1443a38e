import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { anchorConformance, sealOfLine } from "../../ports/anchors.conformance.ts";
import { openFileAnchor } from "./open-file-anchor.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-anchor-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = (path = "seals.jsonl") => openFileAnchor({ path, folder });
const place = (path?: string) => open(path).place(sealOfLine(1), AbortSignal.timeout(30_000));
const inFolder = (name: string) => join(folder, name);

anchorConformance("a file", open);

describe("a file of seals", () => {
  it("is for its owner only, whatever it was before", async () => {
    writeFileSync(inFolder("seals.jsonl"), "", { mode: 0o644 });
    await place();
    expect(statSync(inFolder("seals.jsonl")).mode & 0o777).toBe(0o600);
  });

  it("may lie anywhere else", async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), "rouse-elsewhere-"));
    await place(join(elsewhere, "rouse.db-seals"));
    expect(readFileSync(join(elsewhere, "rouse.db-seals"), "utf8")).toBe(`${JSON.stringify(sealOfLine(1))}\n`);
    rmSync(elsewhere, { recursive: true });
  });

  it("goes on after a line that a power cut left unfinished", async () => {
    await place();
    appendFileSync(inFolder("seals.jsonl"), '{"time":"2026-');
    await open().place(sealOfLine(66), AbortSignal.timeout(30_000));
    expect(await open().read()).toEqual([sealOfLine(1), null, sealOfLine(66)]);
    writeFileSync(inFolder("first.jsonl"), '{"time":"2026-');
    await place("first.jsonl");
    expect(await open("first.jsonl").read()).toEqual([null, sealOfLine(1)]);
  });

  it.each(["rouse.db", "rouse.db-wal", "rouse.db-shm", "lock.db", "./rouse.db"])(
    "is never %s of the data folder, not even while that is empty or missing",
    async (name) => {
      await expect(place(name)).rejects.toThrow(/belongs to the database/);
      writeFileSync(inFolder(name), "");
      await expect(place(name)).rejects.toThrow(/belongs to the database/);
      symlinkSync(inFolder(name), inFolder("link"));
      await expect(place("link")).rejects.toThrow(/belongs to the database/);
      expect(readFileSync(inFolder(name), "utf8")).toBe("");
    },
  );

  it("is never one that holds something else", async () => {
    writeFileSync(inFolder("precious"), "mine\n");
    await expect(place("precious")).rejects.toThrow(/holds something else than seals/);
    expect(readFileSync(inFolder("precious"), "utf8")).toBe("mine\n");
  });

  it("is never reached through a link that somebody laid", async () => {
    writeFileSync(inFolder("target"), "");
    symlinkSync(inFolder("target"), inFolder("seals.jsonl"));
    await expect(place()).rejects.toThrow(/cannot be written \(ELOOP\)/);
  });

  it("that is no file or cannot be there is said by its name", async () => {
    await expect(place("/dev/null")).rejects.toThrow("/dev/null is not a file");
    await expect(place("missing/seals.jsonl")).rejects.toThrow(/missing\/seals.jsonl cannot be written \(ENOENT\)/);
    await expect(open("missing").read()).rejects.toThrow(/missing cannot be read \(ENOENT\)/);
  });
});
