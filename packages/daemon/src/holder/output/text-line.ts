import { printable } from "@rouse/contract";

/** UTF-16 units in a line; longer ones are wrapped. */
export const longestLine = 16 * 1024;

/** One line of a terminal as it is written, erased and started over. Bounded, and never slower for what is in it. */
export interface TextLine {
  isEmpty(): boolean;
  isFull(): boolean;
  /** Offset of the first byte of what stands here. */
  offset(): number;
  add(codePoint: number, offset: number): void;
  eraseLast(): void;
  clear(): void;
  /** With nothing in it that a terminal would act on, except tabs. */
  text(): string;
}

export function createTextLine(): TextLine {
  const units = Buffer.allocUnsafeSlow(2 * (longestLine + 1));
  let length = 0;
  let begin = 0;

  return {
    isEmpty: () => length === 0,
    isFull: () => length >= longestLine,
    offset: () => begin,
    add(codePoint, offset) {
      if (length === 0) begin = offset;
      if (codePoint <= 0xffff) return put(codePoint);
      put(0xd800 + ((codePoint - 0x10000) >> 10));
      put(0xdc00 + ((codePoint - 0x10000) & 0x3ff));
    },
    eraseLast() {
      if (length === 0) return;
      const last = units.readUInt16LE(2 * (length - 1));
      length -= last >= 0xdc00 && last <= 0xdfff ? 2 : 1;
    },
    clear() {
      length = 0;
    },
    text() {
      const raw = units.toString("utf16le", 0, 2 * length);
      return raw
        .split("\t")
        .map((part) => printable(part, Number.POSITIVE_INFINITY))
        .join("\t");
    },
  };

  function put(unit: number): void {
    units.writeUInt16LE(unit, 2 * length);
    length += 1;
  }
}
