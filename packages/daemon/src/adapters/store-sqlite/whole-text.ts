/*
 * The drivers cut a text off at a NUL, when they read it or already when they write it, and a line of the audit trail would no longer be what was hashed.
 * As bytes it stays whole: they are made a text again in SQL when it is written, and here when it is read.
 */

/** For a place where SQL says `CAST(? AS TEXT)`. */
export const toWhole = (text: string | null): string | Uint8Array | null =>
  text?.includes("\0") ? Buffer.from(text) : text;

/** Selects a column of texts for `fromWhole`. */
export const selectWhole = (column: string): string =>
  `iif(instr(CAST(${column} AS BLOB), x'00'), CAST(${column} AS BLOB), ${column}) AS ${column}`;

/** Other bytes are no text of ours: they stay what they are, for whoever checks the trail to see. */
export const fromWhole = (value: unknown): unknown =>
  value instanceof Uint8Array && value.includes(0) ? Buffer.from(value).toString() : value;
