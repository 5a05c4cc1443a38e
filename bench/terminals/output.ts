import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type Line, line, median } from "../report.ts";
import { type BenchOptions, withDaemon } from "../throughput.ts";
import { type Between, runInTerminal } from "./outer-terminal.ts";

const rounds = 5;
const megabytes = 100;
const lineBytes = 80;
const lines = (megabytes * 1_000_000) / lineBytes;
const linesAtOnce = 10_000;

interface Seen {
  /** From the first byte that arrives to the last: how long programs take to start is another question. */
  readonly megabytesPerSecond: number;
  /** From the first process to the end of the last. */
  readonly seconds: number;
  readonly bytes: number;
  readonly digest: string;
}

/** How fast an agent that only writes can write. */
export async function benchOutput({ say }: BenchOptions): Promise<Line[]> {
  return withDaemon(async (_, home) => {
    const file = join(home, "lines.txt");
    const wanted = writeLines(file);
    say(`the agent alone, into nothing: ${(megabytes / timeAlone(file)).toFixed(0)} MB/s`);
    const seen: Record<Between, Seen[]> = { ours: [], bare: [] };
    for (let round = 1; round <= rounds; round++) {
      for (const between of ["ours", "bare"] as const) {
        const one = await pass(between, home, ["cat", file]);
        if (one.digest !== wanted)
          throw new Error(`${between}: ${one.bytes} bytes arrived, and they are not the ones that were written`);
        say(`output, round ${round} of ${rounds}, ${between}: ${one.megabytesPerSecond.toFixed(1)} MB/s`);
        seen[between].push(one);
      }
    }
    return [
      compare("100 MB of lines, throughput", "MB/s", seen, (one) => one.megabytesPerSecond, 0.7),
      compare("100 MB of lines, from start to end", "s", seen, (one) => one.seconds),
    ];
  });
}

function compare(measured: string, unit: string, seen: Record<Between, Seen[]>, of: (one: Seen) => number, aim = 0) {
  const pairs = seen.ours.map((one, i) => [of(one), of(seen.bare[i] ?? one)] as const);
  return line(measured, unit, median(pairs.map(([ours]) => ours)), {
    peer: median(pairs.map(([, bare]) => bare)),
    ratio: median(pairs.map(([ours, bare]) => ours / bare)),
    aim: aim > 0 ? { of: "ratio", atLeast: aim } : null,
  });
}

/** Returns the digest of the expected output. The agent's terminal puts a carriage return before each line end. */
function writeLines(file: string): string {
  const hash = createHash("sha1");
  const handle = openSync(file, "w");
  for (let first = 1; first <= lines; first += linesAtOnce) {
    const text = numberedLines(first, linesAtOnce, lineBytes);
    writeSync(handle, text);
    hash.update(text.replaceAll("\n", "\r\n"));
  }
  closeSync(handle);
  return hash.digest("hex");
}

function timeAlone(file: string): number {
  const begun = performance.now();
  spawnSync("cat", [file], { stdio: ["ignore", "ignore", "inherit"] });
  return (performance.now() - begun) / 1000;
}

async function pass(between: Between, home: string, command: readonly string[]): Promise<Seen> {
  const begun = performance.now();
  const hash = createHash("sha1");
  let bytes = 0;
  let firstAt = 0;
  let lastAt = 0;
  const pty = runInTerminal(between, home, command, (chunk) => {
    lastAt = performance.now();
    if (bytes === 0) firstAt = lastAt;
    bytes += chunk.length;
    hash.update(chunk);
  });
  const code = await pty.ended;
  if (code !== 0) throw new Error(`${between}: ended with ${code} after ${bytes} bytes`);
  return {
    megabytesPerSecond: megabytes / ((lastAt - firstAt) / 1000),
    seconds: (performance.now() - begun) / 1000,
    bytes,
    digest: hash.digest("hex"),
  };
}

/** `count` lines of `width` bytes each, end of line included, no two alike: a lost, doubled or moved one shows. */
export function numberedLines(first: number, count: number, width: number): string {
  let text = "";
  for (let n = first; n < first + count; n++)
    text += `${`${n} ran one more step of the work and wrote down what came of it `.padEnd(width - 1, ".").slice(0, width - 1)}\n`;
  return text;
}
