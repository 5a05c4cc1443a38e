import { printable } from "@rouse/contract";
import { createUtf8Decoder } from "./decode-utf8.ts";
import { createEscapeReader, type Escape } from "./read-escapes.ts";

export interface CleanLine {
  /** Offset of the byte it begins with. */
  readonly offset: number;
  /** Without its newline, and with nothing in it that a terminal would act on, except tabs. */
  readonly text: string;
  /** `false` when it goes on in the next one: it was too long, or was asked for before it was finished. */
  readonly whole: boolean;
}

/**
 * Makes safe plain lines of what a program wrote to its terminal: nothing that comes out moves a cursor, changes a
 * title or answers a question. What was overwritten on a line is gone, as it is on the screen.
 */
interface Cleaner {
  /** `offset` is that of the first byte, when the chunk does not follow the last one. */
  push(chunk: Buffer, offset?: number): CleanLine[];
  /** Gives the unfinished line as it stands. */
  end(): CleanLine[];
}

/** The most spaces that a jump to the right is shown as. */
const widestSkip = 200;

export function createCleaner(): Cleaner {
  const line = createTextLine();
  const escapes = createEscapeReader();
  const decoder = createUtf8Decoder(takeCodePoint);
  let lines: CleanLine[] = [];
  /** Offset of the byte being read, and of the first byte of the character it belongs to. */
  let [position, characterAt] = [0, 0];
  /** The cursor is back at the first column: the next character replaces the line, a newline keeps it. */
  let returned = false;

  return {
    push(chunk, offset = position) {
      position = offset;
      for (let index = 0; index < chunk.length; index++) {
        const byte = chunk[index] as number;
        if (!decoder.isInside() || (byte & 0xc0) !== 0x80) characterAt = position;
        decoder.push(byte);
        position += 1;
      }
      return takeLines();
    },
    end() {
      decoder.end();
      escapes.reset();
      if (!line.isEmpty()) endLine(false);
      return takeLines();
    },
  };

  function takeLines(): CleanLine[] {
    const taken = lines;
    lines = [];
    return taken;
  }

  function takeCodePoint(codePoint: number): void {
    if (escapes.isInside() || escapes.begins(codePoint)) {
      const step = escapes.step(codePoint);
      if (step === null) return;
      if (step !== "text") return obey(step);
    }
    takeText(codePoint);
  }

  function obey(step: Escape): void {
    switch (step.kind) {
      case "nothing":
        return;
      case "start-over":
        returned = true;
        return;
      case "elsewhere":
        if (!line.isEmpty()) endLine(true);
        return;
      case "skip":
        for (let count = Math.min(step.columns, widestSkip); count > 0; count--) add(0x20);
        return;
    }
  }

  function takeText(codePoint: number): void {
    switch (codePoint) {
      case 0x0a:
      case 0x85:
        return endLine(true);
      case 0x0d:
        returned = true;
        return;
      case 0x08:
        if (!returned) line.eraseLast();
        return;
      default:
        return add(codePoint);
    }
  }

  function add(codePoint: number): void {
    if (returned) line.clear();
    returned = false;
    line.add(codePoint, characterAt);
    if (line.isFull()) endLine(false);
  }

  function endLine(whole: boolean): void {
    lines.push({ offset: line.isEmpty() ? position : line.offset(), text: line.text(), whole });
    line.clear();
    returned = false;
  }
}

/** UTF-16 units in a line; longer ones are wrapped. */
export const longestLine = 16 * 1024;

/** One line of a terminal as it is written, erased and started over. Length and time per character are bounded. */
function createTextLine() {
  const units = new Uint16Array(longestLine + 1);
  const bytes = Buffer.from(units.buffer);
  let length = 0;
  /** Only printable ASCII so far, as in most lines: such a line needs no cleaning. */
  let harmless = true;
  let begin = 0;

  return {
    isEmpty: (): boolean => length === 0,
    isFull: (): boolean => length >= longestLine,
    /** Offset of the first byte of the line. */
    offset: (): number => begin,
    add(codePoint: number, offset: number): void {
      if (length === 0) {
        begin = offset;
        harmless = true;
      }
      if (codePoint <= 0xffff) return put(codePoint);
      put(0xd800 + ((codePoint - 0x10000) >> 10));
      put(0xdc00 + ((codePoint - 0x10000) & 0x3ff));
    },
    eraseLast(): void {
      if (length === 0) return;
      const last = units[length - 1] as number;
      length -= last >= 0xdc00 && last <= 0xdfff ? 2 : 1;
    },
    clear(): void {
      length = 0;
    },
    /** The line with nothing in it that a terminal would act on, except tabs. */
    text(): string {
      const raw = bytes.toString("utf16le", 0, 2 * length);
      if (harmless) return raw;
      return raw
        .split("\t")
        .map((part) => printable(part, Number.POSITIVE_INFINITY))
        .join("\t");
    },
  };

  function put(unit: number): void {
    units[length] = unit;
    length += 1;
    if (unit < 0x20 || unit > 0x7e) harmless = false;
  }
}
