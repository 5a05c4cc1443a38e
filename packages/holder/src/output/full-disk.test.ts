import { EventEmitter, once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { cleanUp } from "../../../../e2e/clean-up.ts";
import { canMount, type Disk, mountDisk } from "../../../../e2e/mount-disk.ts";
import { openOutputRing } from "./output-ring.ts";
import { readOutput } from "./read-output.ts";

vi.setConfig({ testTimeout: 30_000 });

const mountable = await canMount();
if (!mountable) console.warn("NOT RUN: output on a full disk (mounting a small disk needs root)");

afterEach(cleanUp);

describe("where the disk cannot be written at all", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "rouse-ring-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("the agent goes on, its last output is served from memory, and it is said once", async () => {
    const faults: (Error | null)[] = [];
    const files = { output: join(folder, "not", "there"), marks: join(folder, "not", "marks") };
    const ring = openOutputRing(files, { keepBytes: 1000, keepHistory: true, onFault: (one) => faults.push(one) });
    for (let count = 0; count < 10; count++) ring.write(Buffer.alloc(64 * 1024, count), count);
    await ring.flushed();
    expect(ring.kept()).toBe(false);
    expect(ring.end()).toBe(640 * 1024);
    const tail = ring.tail(0);
    expect(tail).toMatchObject({ from: 384 * 1024, end: 640 * 1024, oldest: 384 * 1024 });
    expect([tail.bytes[0], tail.bytes.at(-1)]).toEqual([6, 9]);
    // Which tries once more, in vain.
    await ring.close();
    expect(faults).toEqual([expect.objectContaining({ code: "ENOENT" })]);
  });
});

describe.skipIf(!mountable)("on a disk that is full", () => {
  const block = (count: number) => Buffer.alloc(64 * 1024, count);
  const opened = (disk: Disk, onFault: (fault: Error | null) => void) => {
    const files = { output: join(disk.folder, "output"), marks: join(disk.folder, "marks") };
    return { files, ring: openOutputRing(files, { keepBytes: 2_000_000, keepHistory: true, onFault }) };
  };

  it("what was kept stays, memory has the end, and when there is room again it goes on behind a gap", async () => {
    const disk = mountDisk() as Disk;
    const faults: (Error | null)[] = [];
    const changes = new EventEmitter();
    const { files, ring } = opened(disk, (fault) => {
      faults.push(fault);
      changes.emit(fault === null ? "recovered" : "failed");
    });
    ring.write(block(0), 0);
    await ring.flushed();
    disk.fill();
    for (let count = 1; count <= 9; count++) {
      ring.write(block(count), count);
      await ring.flushed();
    }
    expect(ring.kept()).toBe(false);
    expect(ring.tail(0)).toMatchObject({ from: 6 * 65536, end: 10 * 65536 });
    expect(readOutput(files, { from: 0, limit: 1e9 })?.bytes.equals(block(0))).toBe(true);

    disk.makeRoom();
    await once(changes, "recovered");
    ring.write(block(10), 10);
    await ring.flushed();
    expect(ring.kept()).toBe(true);
    expect(faults).toEqual([expect.objectContaining({ code: "ENOSPC" }), null]);
    expect(readOutput(files, { from: 0, limit: 1e9 })?.bytes.equals(block(0))).toBe(true);
    const after = readOutput(files, { from: 65536, limit: 1e9 });
    expect(after).toMatchObject({ from: 6 * 65536, end: 11 * 65536, oldest: 0 });
    expect(after?.bytes.equals(Buffer.concat([6, 7, 8, 9, 10].map(block)))).toBe(true);
    await ring.close();
  });

  it("a last attempt is made when it is closed", async () => {
    const disk = mountDisk() as Disk;
    const { files, ring } = opened(disk, () => undefined);
    disk.fill();
    ring.write(block(1), 1);
    await ring.flushed();
    expect(ring.kept()).toBe(false);
    disk.makeRoom();
    await ring.close();
    expect(readOutput(files, { from: 0, limit: 1e9 })?.bytes.equals(block(1))).toBe(true);
  });
});
