import { printable } from "@rouse/contract";
import { LineCounter, parseDocument, type YAMLError } from "yaml";
import { type ConfigProblem, describePath, type Locate } from "./config-problem.ts";
import { surveyKeys } from "./survey-keys.ts";

/** A file as it was handed to us. */
export interface NamedText {
  readonly name: string;
  readonly text: string;
}

export const largestFile = 1_048_576;
/** Many agents may share one anchor; a bomb needs millions. */
const mostAliases = 10_000;
/** After the first few, syntax errors are echoes of the ones before. */
const mostSyntaxProblems = 20;

export interface ParsedText {
  /** `undefined` when the text has no meaning at all; `problems` then says why. */
  readonly value: unknown;
  readonly locate: Locate;
  readonly problems: readonly ConfigProblem[];
}

/** Reads YAML, and so JSON too. Everything wrong with the text comes back as problems with their places. */
export function parseYaml({ name, text }: NamedText): ParsedText {
  const nowhere: Locate = (path) => ({ file: name, path: describePath(path) });
  const refuse = (...problems: ConfigProblem[]): ParsedText => ({ value: undefined, locate: nowhere, problems });
  if (text.length > largestFile) return refuse({ file: name, path: "", message: "the file is larger than 1 MB" });

  const lines = new LineCounter();
  const document = parseDocument(text, { prettyErrors: false, uniqueKeys: false, lineCounter: lines });
  const syntax = describeSyntaxErrors(name, [...document.errors, ...document.warnings], lines);
  if (syntax.length > 0) return refuse(...syntax);

  const { locate, problems, convertible } = surveyKeys(name, document.contents, lines);
  if (!convertible) return refuse(...problems);
  try {
    const value: unknown = document.toJS({ maxAliasCount: mostAliases });
    return { value, locate, problems };
  } catch (error) {
    // How the library says that there are more aliases than allowed; it counts those inside aliases as often as they unfold.
    if (!(error instanceof ReferenceError)) throw error;
    return refuse({ file: name, path: "", message: "too many aliases: it would unfold into something huge" });
  }
}

function describeSyntaxErrors(file: string, errors: readonly YAMLError[], lines: LineCounter): ConfigProblem[] {
  const tooDeep = errors.some((error) => error.code === "RESOURCE_EXHAUSTION");
  if (tooDeep) return [{ file, path: "", message: "nested too deeply" }];
  const byLine = new Map<number, ConfigProblem>();
  for (const error of errors) {
    const { line, col } = lines.linePos(error.pos[0]);
    if (byLine.has(line)) continue;
    byLine.set(line, { file, path: "", line, column: col, message: describeSyntaxError(error) });
  }
  return [...byLine.values()].slice(0, mostSyntaxProblems);
}

/** Most messages quote the file after a colon, and what they quote may be a secret. */
function describeSyntaxError(error: YAMLError): string {
  if (error.code === "MULTIPLE_DOCS") return "more than one YAML document in one file";
  if (error.code === "TAG_RESOLVE_FAILED") return "not valid YAML: a tag that is not known";
  if (error.code === "BAD_DIRECTIVE") return "not valid YAML: a directive that is not known";
  return `not valid YAML: ${printable(error.message.replace(/: .*$/s, ""), 120)}`;
}
