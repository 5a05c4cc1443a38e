import { digestOf, maskVolatile } from "./mask-text.ts";

/** Lines masked at either end of a text. What lies between is compared as it stands: masking megabytes would hold up everybody else. */
const linesMasked = 100;

const particulars: readonly (readonly [RegExp, string])[] = [
  [/(?<![\w-])[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?![\w-])/gi, "<id>"],
  [/(?<!\w)0x[\da-f]{1,2000}(?!\w)/gi, "<id>"],
  [/(?<!\w)(?=[a-f]{0,2000}\d)[\da-f]{7,2000}(?!\w)/gi, "<id>"],
  [/\d{1,2000}/g, "#"],
];

/**
 * Identity of a text but for numbers, ids and times. Names, paths and quotes count: "no such file a.ts" and "no such file b.ts" are two facts about two
 * files, not the same again.
 */
export function classOfText(text: string): string {
  const lines = text.split("\n");
  if (lines.length <= 2 * linesMasked) return digestOf(lines.map(mask).join("\n"));
  const head = lines.slice(0, linesMasked).map(mask);
  const tail = lines.slice(-linesMasked).map(mask);
  const between = digestOf(lines.slice(linesMasked, -linesMasked).join("\n"));
  return digestOf([...head, between, ...tail].join("\n"));
}

function mask(line: string): string {
  let text = maskVolatile(line);
  for (const [part, word] of particulars) text = text.replace(part, word);
  return text;
}
