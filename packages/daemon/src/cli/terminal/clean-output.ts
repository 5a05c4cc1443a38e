import { createUtf8Decoder } from "./decode-utf8.ts";
import { createEscapeReader, type Escape } from "./read-escapes.ts";
import { createTextLine } from "./text-line.ts";

export interface CleanLine {
  /** Offset of the byte it begins with. */
  readonly offset: number;
  /** Without its newline, and with nothing in it that a terminal would act on, except tabs. */
  readonly text: string;
  /** `false` when it goes on in the next one: it was too long, or was asked for before it was finished. */
  readonly whole: boolean;
}

/**
 * Makes safe plain lines of what a program wrote to its terminal: nothing that comes out moves a cursor, changes a title or answers a question.
 * What was overwritten on a line is gone, as it is on the screen.
 */
export interface Cleaner {
  /** `offset` of its first byte, when it does not follow the last one. */
  push(chunk: Buffer, offset?: number): CleanLine[];
  /** What stands on the line that is not finished. */
  end(): CleanLine[];
}

/** A jump to the right is shown as so many spaces at most. */
const widestSkip = 200;

export function createCleaner(): Cleaner {
  const line = createTextLine();
  const escapes = createEscapeReader();
  const decoder = createUtf8Decoder(takeCodePoint);
  let lines: CleanLine[] = [];
  /** Offset of the byte being read, and of the first byte of the character it belongs to. */
  let [position, characterAt] = [0, 0];
  /** Back at the first column: the next character takes the line's place, a newline leaves it as it is. */
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
