import { printable } from "@rouse/contract";
import { isAlias, isCollection, isMap, isScalar, LineCounter, parseDocument, type YAMLError } from "yaml";
import { type ConfigProblem, describePath, type Locate, type PathPart } from "./config-problem.ts";

export interface NamedText {
  readonly name: string;
  readonly text: string;
}

export const largestFile = 1_048_576;
/** Many agents may share one YAML anchor; an alias bomb needs millions. */
const mostAliases = 10_000;
/** After the first few, syntax errors are echoes of the ones before. */
const mostSyntaxProblems = 20;

export interface ParsedText {
  /** `undefined` when the text has no meaning at all; `problems` then says why. */
  readonly value: unknown;
  readonly locate: Locate;
  readonly problems: readonly ConfigProblem[];
}

/** Reads YAML, and so JSON too. Whatever is wrong with the text comes back as problems with their places. */
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
    // The library throws this for too many aliases; it counts aliases inside aliases as often as they unfold.
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

type Path = readonly PathPart[];

interface Notes {
  readonly offsets: Map<string, number>;
  readonly anchors: Set<string>;
  readonly refused: { path: Path; offset: number | undefined; message: string }[];
  /** False when the tree cannot be turned into plain data at all. */
  convertible: boolean;
}

/** Walks over a YAML tree: where everything stands, and which keys are refused. Aliases are noted, never followed. */
function surveyKeys(file: string, root: unknown, lines: LineCounter) {
  const notes: Notes = { offsets: new Map(), anchors: new Set(), refused: [], convertible: true };
  walk(notes, root, []);

  const placeOf = (path: Path, offset: number | undefined) => {
    if (offset === undefined) return { file, path: describePath(path) };
    const { line, col } = lines.linePos(offset);
    return { file, path: describePath(path), line, column: col };
  };
  const locate: Locate = (path, part = "value") => placeOf(path, nearestOffset(notes, path, part));
  const problems = notes.refused.map(({ path, offset, message }) => ({ ...placeOf(path, offset), message }));
  return { locate, problems, convertible: notes.convertible };
}

function walk(notes: Notes, node: unknown, path: Path): void {
  const offset = note(notes, "value", path, node);
  if (isAlias(node)) {
    if (notes.anchors.has(node.source)) return;
    notes.convertible = false;
    notes.refused.push({ path, offset, message: "an alias to an anchor that is not set before it" });
  } else if (isScalar(node) || isCollection(node)) {
    if (node.anchor) notes.anchors.add(node.anchor);
    if (isMap(node)) walkPairs(notes, node.items, path);
    else if (isCollection(node)) for (const [i, item] of node.items.entries()) walk(notes, item, [...path, i]);
  }
}

function walkPairs(notes: Notes, pairs: readonly { key: unknown; value: unknown }[], path: Path): void {
  const seen = new Set<string>();
  for (const { key, value } of pairs) {
    const name = keyText(key);
    const here = [...path, name ?? "?"];
    const offset = note(notes, "key", here, key);
    if (name === undefined) {
      notes.convertible = false;
      notes.refused.push({ path: here, offset, message: "a key must be plain text" });
      continue;
    }
    // Settings become plain objects, on which this name sets the prototype.
    if (name === "__proto__") notes.refused.push({ path: here, offset, message: "not allowed as a name" });
    if (seen.has(name)) notes.refused.push({ path: here, offset, message: "duplicate key: it is already given above" });
    seen.add(name);
    walk(notes, value, here);
  }
}

/** A key that is an alias or a list has no name of its own. */
function keyText(key: unknown): string | undefined {
  if (!isScalar(key)) return undefined;
  return key.value === null ? "" : String(key.value);
}

function note(notes: Notes, part: "key" | "value", path: Path, node: unknown): number | undefined {
  const offset = isAlias(node) || isScalar(node) || isCollection(node) ? node.range?.[0] : undefined;
  if (offset !== undefined) notes.offsets.set(part + JSON.stringify(path), offset);
  return offset;
}

/** A value behind an alias or a missing one has no place of its own: the nearest thing around it is named. */
function nearestOffset(notes: Notes, path: Path, part: "key" | "value"): number | undefined {
  const exact = notes.offsets.get(part + JSON.stringify(path));
  if (exact !== undefined) return exact;
  for (let length = path.length; length > 0; length--) {
    const outer = path.slice(0, length);
    // An entry of a list has no key: it is found by where it begins.
    const named = typeof outer.at(-1) === "number" ? "value" : "key";
    const around = notes.offsets.get(named + JSON.stringify(outer));
    if (around !== undefined) return around;
  }
  return undefined;
}
