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
  const units = new Uint16Array(longestLine + 1);
  const bytes = Buffer.from(units.buffer);
  let length = 0;
  /** Most lines hold nothing that needs a second look. */
  let harmless = true;
  let begin = 0;

  return {
    isEmpty: () => length === 0,
    isFull: () => length >= longestLine,
    offset: () => begin,
    add(codePoint, offset) {
      if (length === 0) {
        begin = offset;
        harmless = true;
      }
      if (codePoint <= 0xffff) return put(codePoint);
      put(0xd800 + ((codePoint - 0x10000) >> 10));
      put(0xdc00 + ((codePoint - 0x10000) & 0x3ff));
    },
    eraseLast() {
      if (length === 0) return;
      const last = units[length - 1] as number;
      length -= last >= 0xdc00 && last <= 0xdfff ? 2 : 1;
    },
    clear() {
      length = 0;
    },
    text() {
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
