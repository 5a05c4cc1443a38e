import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { makeProgram } from "./make-program.test-support.ts";
import { openOutputRing } from "./output-ring.ts";
import { readOutput } from "./read-output.ts";

vi.setConfig({ testTimeout: 60_000 });

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-beside-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The byte at an offset says which offset it is: 16-byte records, each its own number. */
const records = `
  const record = (offset) => String(offset / 16).padStart(15, "0") + "\\n";
  const chunkAt = (offset) => Buffer.from(Array.from({ length: 4096 }, (_, i) => record(offset + 16 * i)).join(""));`;

function findWrongByte(from: number, bytes: Buffer): number | null {
  const begin = from - (from % 16);
  for (let at = begin; at < from + bytes.length; at += 16) {
    const expected = Buffer.from(`${String(at / 16).padStart(15, "0")}\n`);
    const [start, stop] = [Math.max(at, from), Math.min(at + 16, from + bytes.length)];
    const same = expected.subarray(start - at, stop - at).equals(bytes.subarray(start - from, stop - from));
    if (!same) return at;
  }
  return null;
}

describe("reading beside a writer in another process", () => {
  it.each([
    { keepBytes: 150_000, chunksAtOnce: 2 },
    // More waits than may be written at once.
    { keepBytes: 1_500_000, chunksAtOnce: 23 },
    // More waits than is kept.
    { keepBytes: 150_000, chunksAtOnce: 5 },
  ])("finds no wrong byte in 50 MB or more, however often it is overrun: %o", async ({ keepBytes, chunksAtOnce }) => {
    const files = { output: join(folder, "output"), marks: join(folder, "marks") };
    const readEnough = join(folder, "read-enough");
    const write = await makeProgram(
      import.meta.dirname,
      folder,
      `import { existsSync } from "node:fs";
       import { openOutputRing } from "./output-ring.ts";
       ${records}
       const ring = openOutputRing(${JSON.stringify(files)}, { keepBytes: ${keepBytes}, keepHistory: true });
       const total = 50 * 1024 * 1024;
       const readEnough = ${JSON.stringify(readEnough)};
       for (let at = 0; at < total || !existsSync(readEnough); at += 65536) {
         ring.write(chunkAt(at), Date.now());
         if (at % (65536 * ${chunksAtOnce}) === 0) await ring.flushed();
       }
       process.stdout.write(String(ring.end()));
       await ring.close();`,
    );
    const writer = write();
    onTestFinished(() => void writer.kill("SIGKILL"));
    let end = "";
    writer.stdout.on("data", (chunk) => {
      end += String(chunk);
    });
    let running = true;
    const over = once(writer, "close").then(() => (running = false));
    let [next, read, reads] = [0, 0, 0];
    while (running) {
      const piece = readOutput(files, { from: next, limit: 1e6 });
      if (piece !== null && piece.bytes.length > 0) {
        expect(piece.from).toBeGreaterThanOrEqual(next);
        expect(findWrongByte(piece.from, piece.bytes)).toBeNull();
        next = piece.from + piece.bytes.length;
        read += piece.bytes.length;
        reads += 1;
        // On a busy machine 50 MB may be written before the tenth read: the writer goes on until it is told.
        if (reads > 10 && read > 1e6) writeFileSync(readEnough, "");
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    await over;
    expect(writer.exitCode).toBe(0);
    expect(Number(end)).toBeGreaterThanOrEqual(50 * 1024 * 1024);
    expect(readOutput(files, { from: null, limit: 1e9 })).toMatchObject({ end: Number(end) });
  });

  it("and after the writer was killed there is everything it had flushed, and the next life goes on there", async () => {
    const files = { output: join(folder, "output"), marks: join(folder, "marks") };
    const write = await makeProgram(
      import.meta.dirname,
      folder,
      `import { openOutputRing } from "./output-ring.ts";
       ${records}
       const ring = openOutputRing(${JSON.stringify(files)}, { keepBytes: 1_000_000, keepHistory: true });
       for (let at = 0; ; at += 65536) {
         ring.write(chunkAt(at), Date.now());
         await ring.flushed();
         if (at % (65536 * 64) === 0) process.stdout.write(ring.end() + "\\n");
       }`,
    );
    const writer = write();
    const told: number[] = [];
    writer.stdout.on("data", (chunk) => {
      told.push(...String(chunk).trim().split("\n").map(Number));
      if (told.length > 3) writer.kill("SIGKILL");
    });
    await once(writer, "close");
    const piece = readOutput(files, { from: null, limit: 1e9 });
    expect(piece?.end).toBeGreaterThanOrEqual(Math.max(...told));
    expect(piece?.bytes).toHaveLength(1_000_000);
    expect(findWrongByte(piece?.from ?? 0, piece?.bytes ?? Buffer.alloc(0))).toBeNull();
    const next = openOutputRing(files, { keepBytes: 1_000_000, keepHistory: true });
    expect(next.end()).toBe(piece?.end);
    await next.close();
  });
});
