import type { CommandLine, Takes } from "./program-options.ts";

/** One piece of a command line. `args` are its original words: all pieces together are the line again. */
export type Piece =
  | {
      readonly kind: "option";
      readonly name: string;
      readonly value: string | true;
      readonly args: readonly string[];
    }
  /** `sure`: it cannot be the value of an option. `text`: it follows `--`. */
  | {
      readonly kind: "word";
      readonly word: string;
      readonly sure: boolean;
      readonly text: boolean;
      readonly args: readonly string[];
    }
  | { readonly kind: "end"; readonly args: readonly string[] };

type OptionPiece = Extract<Piece, { kind: "option" }>;
export type WordPiece = Extract<Piece, { kind: "word" }>;

/** Reads a command line as its program would. Joined switches (`-pc`) become pieces of their own. */
export function readArguments(line: CommandLine, args: readonly string[]): readonly Piece[] {
  const pieces: Piece[] = [];
  for (let at = 0; at < args.length; ) {
    const arg = args[at] ?? "";
    if (arg === "--") {
      const words = args
        .slice(at + 1)
        .map((word): Piece => ({ kind: "word", word, sure: true, text: true, args: [word] }));
      return [...pieces, { kind: "end", args: [arg] }, ...words];
    }
    const read = isOption(arg) ? readOption(line, arg, args.slice(at + 1)) : [wordPiece(arg, pieces.at(-1), line)];
    pieces.push(...read);
    at += read.at(-1)?.args.length ?? 1;
  }
  return pieces;
}

const isOption = (word: string): boolean => word.startsWith("-") && word !== "-";

/** The word after an unknown option may be its value. */
function wordPiece(word: string, before: Piece | undefined, { options }: CommandLine): Piece {
  const isUnknown =
    before?.kind === "option" &&
    before.args.length === 1 &&
    !before.args[0]?.includes("=") &&
    !options.has(before.name);
  return { kind: "word", word, sure: !isUnknown, text: false, args: [word] };
}

function readOption(line: CommandLine, arg: string, rest: readonly string[]): readonly OptionPiece[] {
  const [, spelled = arg, joined] = /^(-[^=\s]+)=([\s\S]*)$/.exec(arg) ?? [];
  const known = line.options.get(spelled);
  if (joined !== undefined) return [{ kind: "option", name: known?.name ?? spelled, value: joined, args: [arg] }];
  if (known === undefined)
    return readShort(line, arg, rest) ?? [{ kind: "option", name: arg, value: true, args: [arg] }];
  const values = valuesOf(known.takes, line, rest);
  return [{ kind: "option", name: known.name, value: values[0] ?? true, args: [arg, ...values] }];
}

/** `-mgpt-5` is `-m gpt-5`; `-pc` is `-p -c`. */
function readShort(line: CommandLine, arg: string, rest: readonly string[]): readonly OptionPiece[] | null {
  if (arg.startsWith("--") || arg.length < 3) return null;
  const first = line.options.get(arg.slice(0, 2));
  if (first === undefined) return null;
  if (first.takes !== "nothing") return [{ kind: "option", name: first.name, value: arg.slice(2), args: [arg] }];
  const others = readOption(line, `-${arg.slice(2)}`, rest);
  const areKnown = others.every(({ name }) => line.options.has(name));
  return areKnown ? [{ kind: "option", name: first.name, value: true, args: [arg.slice(0, 2)] }, ...others] : null;
}

function valuesOf(takes: Takes, { takesDashes }: CommandLine, rest: readonly string[]): readonly string[] {
  const next = rest[0];
  if (takes === "nothing" || next === undefined || next === "--") return [];
  const isTaken = !isOption(next) || (takesDashes && takes !== "maybe");
  if (!isTaken) return [];
  const more = takes === "many" ? rest.slice(1).findIndex((word) => word.startsWith("-")) : 0;
  return rest.slice(0, 1 + (more === -1 ? rest.length : more));
}

/** Each option with its last value. */
export const optionsIn = (pieces: readonly Piece[]): ReadonlyMap<string, string | true> =>
  new Map(pieces.flatMap((piece) => (piece.kind === "option" ? [[piece.name, piece.value] as const] : [])));

export const wordsIn = (pieces: readonly Piece[]): readonly WordPiece[] =>
  pieces.filter((piece) => piece.kind === "word");

export const argsOf = (pieces: readonly Piece[]): readonly string[] => pieces.flatMap(({ args }) => args);
