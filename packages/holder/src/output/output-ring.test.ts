import { mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openOutputRing } from "./output-ring.ts";
import { packMark, readOutput, readOutputTimes, readTimes } from "./read-output.ts";

let folder = "";
let files: { output: string; marks: string };
const pageBytes = 4096;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-ring-"));
  files = { output: join(folder, "output"), marks: join(folder, "marks") };
});

afterEach(() => rmSync(folder, { recursive: true }));

const open = (keepBytes: number, at = files) => openOutputRing(at, { keepBytes, keepHistory: true });
const text = (from: number | null = null, limit = 1e9) => readOutput(files, { from, limit })?.bytes.toString();

async function write(ring: ReturnType<typeof open>, ...chunks: string[]): Promise<void> {
  for (const chunk of chunks) ring.write(Buffer.from(chunk), 0);
  await ring.flushed();
}

describe("the output of an agent", () => {
  it("is what it wrote last, with offsets that count everything it ever wrote", async () => {
    const ring = open(10);
    await write(ring, "abc");
    expect(readOutput(files, { from: null, limit: 100 })).toMatchObject({ from: 0, end: 3, oldest: 0 });
    await write(ring, "defghijklm", "no");
    const piece = readOutput(files, { from: 2, limit: 100 });
    expect(piece).toMatchObject({ from: 5, end: 15, oldest: 5 });
    expect(piece?.bytes.toString()).toBe("fghijklmno");
    expect(text(7, 3)).toBe("hij");
    expect(readOutput(files, { from: 15, limit: 100 })).toMatchObject({ from: 15, bytes: Buffer.alloc(0) });
    await ring.close();
  });

  it("is nothing where nothing was ever kept, or where the file is something else", () => {
    expect(readOutput(files, { from: null, limit: 1 })).toBeNull();
    writeFileSync(files.output, "not a ring".repeat(1000));
    expect(readOutput(files, { from: null, limit: 1 })).toBeNull();
    expect(readOutputTimes(files).timeAt(0)).toBeNull();
  });

  it("takes no more room on the disk than was said, for nobody else to read", async () => {
    const ring = open(100_000);
    for (let count = 0; count < 50; count++) await write(ring, "x".repeat(30_000));
    expect(statSync(files.output).size).toBeLessThanOrEqual(pageBytes + 2 * 100_000);
    expect(statSync(files.output).mode & 0o077).toBe(0);
    await ring.close();
  });

  it("goes on after the last life, which can still be read", async () => {
    const first = open(100);
    await write(first, "first");
    await first.close();
    const second = open(100);
    expect(second.lifeStart()).toBe(5);
    await write(second, " second");
    expect(text()).toBe("first second");
    expect(readOutput(files, { from: null, limit: 0 })?.lifeStart).toBe(5);
    await second.close();
  });

  it("keeps nothing of earlier lives when it is not wanted, but counts on", async () => {
    const first = open(100);
    await write(first, "secret");
    await first.close();
    const second = openOutputRing(files, { keepBytes: 100, keepHistory: false });
    expect(readOutput(files, { from: 0, limit: 100 })).toMatchObject({ from: 6, end: 6, bytes: Buffer.alloc(0) });
    await second.close();
  });

  it("goes on with another size, with what fits of the past", async () => {
    const first = open(10);
    await write(first, "0123456789abc");
    await first.close();
    const smaller = open(4);
    await write(smaller, "d");
    expect(readOutput(files, { from: 0, limit: 100 })).toMatchObject({ from: 10, end: 14 });
    expect(text()).toBe("abcd");
    await smaller.close();
    const larger = open(1000);
    await write(larger, "efgh");
    expect(text()).toBe("abcdefgh");
    await larger.close();
    expect(readdirSync(folder).sort()).toEqual(["marks", "output"]);
  });

  it("starts anew where the file was damaged", async () => {
    const first = open(100);
    await write(first, "first");
    await first.close();
    const file = openSync(files.output, "r+");
    writeSync(file, Buffer.alloc(pageBytes, 7), 0, pageBytes, 0);
    const second = open(100);
    await write(second, "new");
    expect(text()).toBe("new");
    await second.close();
  });

  it("survives a header that was torn in the middle of being written", async () => {
    const ring = open(100);
    await write(ring, "abc");
    await write(ring, "def");
    await ring.close();
    const file = openSync(files.output, "r+");
    // The newest of the two: the last of three headers (opened, abc, def) is in the first slot.
    writeSync(file, Buffer.from("torn"), 0, 4, 40);
    expect(text()).toBe("abc");
    const after = open(100);
    await write(after, "xyz");
    expect(text()).toBe("abcxyz");
    await after.close();
  });

  it("is what a simple model says, whatever is written, flushed, reopened and resized", async () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ write: fc.integer({ min: 0, max: 400 }) }) },
      { weight: 2, arbitrary: fc.record({ flush: fc.constant(true) }) },
      { weight: 1, arbitrary: fc.record({ reopen: fc.integer({ min: 1, max: 300 }) }) },
    );
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 300 }), fc.array(step, { maxLength: 30 }), async (size, steps) => {
        run += 1;
        const place = join(folder, String(run));
        mkdirSync(place);
        const at = { output: join(place, "output"), marks: join(place, "marks") };
        let [keep, oldest, written] = [size, 0, Buffer.alloc(0)];
        let ring = open(keep, at);
        for (const one of steps) {
          if ("write" in one) {
            const chunk = Buffer.from(Array.from({ length: one.write }, (_, i) => (written.length + i) % 251));
            written = Buffer.concat([written, chunk]);
            ring.write(chunk, run);
          } else if ("flush" in one) await ring.flushed();
          else {
            await ring.close();
            oldest = Math.max(oldest, written.length - keep);
            keep = one.reopen;
            ring = open(keep, at);
          }
          expect(ring.end()).toBe(written.length);
          expect(ring.tail(0).bytes.equals(written.subarray(ring.lifeStart()))).toBe(true);
        }
        await ring.flushed();
        const piece = readOutput(at, { from: 0, limit: 1e9 });
        const expected = Math.max(oldest, written.length - keep);
        expect(piece).toMatchObject({ from: expected, end: written.length, oldest: expected });
        expect(piece?.bytes.equals(written.subarray(expected))).toBe(true);
        await ring.close();
      }),
      { numRuns: 150 },
    );
  });
});

describe("when it was written", () => {
  const start = 1_770_000_000_000;

  it("is known to a tenth of a second, in both directions", async () => {
    const ring = open(1000);
    for (let count = 0; count < 20; count++) ring.write(Buffer.from("0123456789"), start + 50 * count);
    ring.write(Buffer.from("later"), start + 60_000);
    await ring.flushed();
    const times = readOutputTimes(files);
    expect(times.timeAt(0)).toBe(start);
    expect(times.timeAt(45)).toBe(start + 200);
    expect(times.timeAt(203)).toBe(start + 60_000);
    expect(times.offsetAt(start - 1)).toBe(0);
    expect(times.offsetAt(start + 500)).toBe(100);
    expect(times.offsetAt(start + 550)).toBe(100);
    expect(times.offsetAt(start + 30_000)).toBe(200);
    expect(times.offsetAt(start + 70_000)).toBeNull();
    await ring.close();
  });

  it("takes bounded room however long the agent writes", async () => {
    const ring = open(1000);
    for (let count = 0; count < 200_000; count++) {
      ring.write(Buffer.from("x"), start + 100 * count);
      if (count % 10_000 === 0) await ring.flushed();
    }
    await ring.flushed();
    expect(statSync(files.marks).size).toBeLessThanOrEqual(pageBytes + 2 * 16 * 64 * 1024);
    const times = readOutputTimes(files);
    expect(times.timeAt(199_999)).toBe(start + 100 * 199_999);
    expect(times.timeAt(200_000 - 64 * 1024)).toBe(start + 100 * (200_000 - 64 * 1024));
    expect(times.timeAt(10)).toBeNull();
    await ring.close();
  });

  it("goes by the life that wrote it, when one before died with its output not yet on the disk", async () => {
    const first = open(1000);
    first.write(Buffer.from("kept"), start);
    await first.flushed();
    first.write(Buffer.from("lost"), start + 1000);
    await first.close();
    // As if that write had not reached the disk: the newer header is gone.
    const file = openSync(files.output, "r+");
    writeSync(file, Buffer.alloc(16), 0, 16, 0);
    const second = open(1000);
    expect(second.end()).toBe(4);
    second.write(Buffer.from("again and on"), start + 5000);
    await second.close();
    expect(readOutputTimes(files).timeAt(4)).toBe(start + 5000);
    const lost = [0, 4, 8].map((offset) => packMark({ offset, at: start + offset }));
    const times = readTimes(Buffer.concat([...lost, packMark({ offset: 4, at: start + 5000 })]));
    expect([0, 3, 4, 6, 9].map(times.timeAt)).toEqual([start, start, ...Array(3).fill(start + 5000)]);
  });

  it("is still found after the clock was set back", async () => {
    const ring = open(1000);
    ring.write(Buffer.from("one"), start + 3_600_000);
    ring.write(Buffer.from("two"), start);
    await ring.flushed();
    expect(readOutputTimes(files).timeAt(3)).toBe(start);
    expect(readOutputTimes(files).offsetAt(start)).toBe(0);
    await ring.close();
  });
});
