import { type EpochMs, type ExitStatus, toIso } from "@rouse/contract";
import { writeJson } from "../surroundings.ts";
import { type CleanLine, createCleaner } from "../terminal/clean-output.ts";

/** Prints an agent's output as it comes, in order and each byte once. */
export interface OutputPrinter {
  take(offset: number, bytes: Buffer): void;
  /** Offset of the byte after the last one taken. */
  next(): number;
  /** Prints the last lines of what was held back; from here on everything is printed as it comes. */
  release(): void;
  /** Prints the last line, finished or not. */
  flush(): void;
}

interface PrinterOptions {
  readonly style: OutputStyle | "raw";
  readonly from: number;
  /** How many of the last lines are wanted until `release`; `null` for all. */
  readonly lines: number | null;
  timeAt(offset: number): EpochMs | null;
  write(output: string | Buffer): void;
  warn(message: string): void;
}

export function createOutputPrinter(options: PrinterOptions): OutputPrinter {
  const printer = options.style === "raw" ? printRaw(options) : printLines(options, options.style);
  let next = options.from;
  return {
    next: () => next,
    take(offset, bytes) {
      if (offset > next) {
        printer.flush();
        options.warn(describeLoss(offset - next));
      }
      const fresh = offset < next ? bytes.subarray(Math.min(next - offset, bytes.length)) : bytes;
      const begin = Math.max(offset, next);
      next = begin + fresh.length;
      if (fresh.length > 0) printer.print(fresh, begin);
    },
    release: printer.release,
    flush: printer.flush,
  };
}

function printLines({ lines: wanted, timeAt, write }: PrinterOptions, style: OutputStyle) {
  const cleaner = createCleaner();
  const last = wanted ?? 0;
  const lastLines = (lines: CleanLine[]): CleanLine[] => lines.slice(Math.max(0, lines.length - last));
  let held: CleanLine[] | null = wanted === null ? null : [];

  const show = (lines: readonly CleanLine[]) => {
    if (lines.length > 0) write(lines.map((line) => showOutputLine(line, timeAt(line.offset), style)).join(""));
  };
  const take = (lines: CleanLine[]) => {
    if (held === null) return show(lines);
    for (const line of lines) held.push(line);
    // The list is cut only now and then: cutting it at every line would take longer than reading.
    if (held.length > 2 * last + 1000) held = lastLines(held);
  };
  return {
    print: (bytes: Buffer, offset: number) => take(cleaner.push(bytes, offset)),
    flush: () => take(cleaner.end()),
    release() {
      const lines = lastLines(held ?? []);
      held = null;
      show(lines);
    },
  };
}

function printRaw({ lines: wanted, write }: PrinterOptions) {
  let held: Buffer[] | null = wanted === null ? null : [];
  return {
    print(bytes: Buffer) {
      if (held === null) write(bytes);
      else held.push(bytes);
    },
    flush: () => undefined,
    release() {
      const bytes = Buffer.concat(held ?? []);
      held = null;
      const last = bytes.subarray(startOfLast(bytes, wanted ?? 0));
      if (last.length > 0) write(last);
    },
  };
}

/** Where the last `count` lines begin; an unfinished line counts. */
function startOfLast(bytes: Buffer, count: number): number {
  let place = bytes.at(-1) === 0x0a ? bytes.length - 1 : bytes.length;
  if (count === 0) return bytes.length;
  for (let left = count; left > 0 && place > 0; left--) {
    const newline = bytes.lastIndexOf(0x0a, place - 1);
    if (newline === -1) return 0;
    if (left === 1) return newline + 1;
    place = newline;
  }
  return 0;
}

type OutputStyle = "plain" | "timestamps" | "json";

/** One line of an agent's output. `at` is `null` when it is not known any more when it was written. */
function showOutputLine({ text, offset }: CleanLine, at: EpochMs | null, style: OutputStyle): string {
  switch (style) {
    case "plain":
      return `${text}\n`;
    case "timestamps":
      return `${at === null ? "-".padEnd(unknownWidth) : toIso(at)} ${text}\n`;
    case "json":
      return `${writeJson({ at: at === null ? null : toIso(at), offset, text }, 0)}\n`;
  }
}

const unknownWidth = "2026-02-05T10:30:07.123Z".length;

const describeLoss = (bytes: number): string =>
  `${bytes.toLocaleString("en")} bytes of output are missing here: they were not kept, or newer output took their place`;

export function describeEnd(agentId: string, exit: ExitStatus | null): string {
  if (exit === null || exit.cause === "unseen") return `${agentId} has ended; nobody saw how`;
  const how = exit.signal === null ? `with ${exit.code ?? "an unknown code"}` : `by ${exit.signal}`;
  switch (exit.cause) {
    case "by-itself":
      return `${agentId} has ended ${how}`;
    case "person":
      return `${agentId} has ended ${how}, as somebody at its terminal wanted`;
    case "stopped":
      return `${agentId} was stopped by Rouse (ended ${how})`;
    case "killed":
      return `${agentId} was killed by somebody else (ended ${how})`;
  }
}
