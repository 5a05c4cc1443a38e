import { classOfText, cut, digestOf, longestLine, maskVolatile } from "@rouse/contract";

export { classOfText, cut, digestOf, longestLine, maskVolatile };

const longestClass = 200;

const particular: readonly (readonly [RegExp, string])[] = [
  [/[\p{Cc}\p{Cf}\p{Cs}]/gu, " "],
  [/(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>`)]{1,2000}/gi, "<url>"],
  [/(?<![\w.+-])[\w.+-]{1,64}@[\w.-]{1,200}/g, "<address>"],
  // A secret in an error must not leave the machine.
  [
    /(?<!\w)((?:password|passwd|secret|token|api[ _-]?key|authorization|bearer)"?\s{0,4}[=:]?\s{0,4})(?=\S*[\d*_-])\S{1,2000}/gi,
    "$1<secret>",
  ],
  [/"[^"]{0,500}"|(?<!\w)'[^']{0,500}'(?!\w)|`[^`]{0,500}`/g, "<text>"],
  [/(?<![\w-])[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?![\w-])/gi, "<id>"],
  [/(?<!\w)0x[\da-f]{1,2000}(?!\w)/gi, "<id>"],
  [/(?<![\w-])(?=[a-z_-]{0,2000}\d)[\w-]{20,2000}(?![\w-])/gi, "<id>"],
  [/(?<!\w)(?=[a-f]{0,2000}\d)[\da-f]{7,2000}(?!\w)/gi, "<id>"],
  [/(?<!\w)[a-z]:\\[^\s"'<>|]{0,2000}/gi, "<path>"],
  [/(?<![\w.@~/<-])(?:~|\.{1,2})?\/[^\s"'`:,;()<>]{1,2000}/g, "<path>"],
  [/(?<![\w.@/<-])[\w.@-]{1,255}\/[\w.@/-]{1,2000}/g, "<path>"],
  [/\d{1,2000}/g, "#"],
  [/\s{1,2000}/g, " "],
];

/** The class of an error: the line with ids, paths, numbers and quotes masked, at most 200 characters. */
export function maskDetails(line: string): string {
  let text = maskVolatile(line);
  for (const [part, word] of particular) text = text.replace(part, word);
  return cut(text.trim(), longestClass).trim();
}
