import { fchmodSync, fstatSync, openSync, readlinkSync } from "node:fs";
import { resolve } from "node:path";
import { type EpochMs, Fault, printable } from "@rouse/contract";
import { homeFolder } from "../home/home-folder.ts";
import { type Line, paintLine } from "./text/styled-text.ts";

/** Everything a command reads from or writes to outside itself, except the daemon. */
export interface Surroundings {
  readonly environment: NodeJS.ProcessEnv;
  readonly workingFolder: string;
  /** `$ROUSE_HOME`. */
  readonly home: string;
  /** Columns of the terminal; without one, nothing is cut. */
  readonly width: number;
  now(): EpochMs;
  print(lines: readonly Line[]): void;
  /** A line as text, with colours where they are shown. */
  paint(line: Line): string;
  /** Prints one document, indented in a terminal. */
  printJson(document: unknown): void;
  /** Prints one of many documents on a line of its own. */
  printJsonLine(document: unknown): void;
  printText(text: string): void;
  warn(message: string): void;
}

export function readSurroundings(): Surroundings {
  const { stdout, stderr, env } = process;
  const width = stdout.isTTY ? Math.max(40, stdout.columns || 80) : Number.POSITIVE_INFINITY;
  const colours = stdout.isTTY && !env.NO_COLOR && env.TERM !== "dumb";
  return {
    environment: env,
    workingFolder: currentFolder(),
    home: resolve(homeFolder(env)),
    width,
    now: () => Date.now(),
    paint: (line) => paintLine(line, colours),
    print: (lines) => void stdout.write(lines.map((line) => `${paintLine(line, colours)}\n`).join("")),
    printJson: (document) => void stdout.write(`${writeJson(document, stdout.isTTY ? 2 : 0)}\n`),
    printJsonLine: (document) => void stdout.write(`${writeJson(document, 0)}\n`),
    printText: (text) => void stdout.write(text),
    warn(message) {
      const lines = message.split("\n").map((line) => printable(line, 2000));
      stderr.write(`rouse: ${lines.join("\n       ")}\n`);
    },
  };
}

/** A folder that was removed under us still has a name, under which nothing is found. Few commands work in it. */
function currentFolder(): string {
  try {
    return process.cwd();
  } catch {
    return readlinkSync("/proc/self/cwd");
  }
}

/** Opens a file that only its owner may read. An existing file is refused unless it may be overwritten. */
export function openPrivateFile(path: string, overwrites: boolean): number {
  try {
    const handle = openSync(path, overwrites ? "w" : "wx", 0o600);
    // A file that is overwritten keeps the mode it had.
    if (fstatSync(handle).isFile()) fchmodSync(handle, 0o600);
    return handle;
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

export function cannotWrite(path: string, error: unknown): Fault {
  const { code } = error as NodeJS.ErrnoException;
  const why = code === "EEXIST" ? "it exists; --force overwrites it" : `it cannot be written (${code})`;
  return new Fault("bad-request", `${path}: ${why}`, { cause: error });
}

/** Writes JSON without anything that a terminal would act on: JSON itself leaves C1 controls and direction marks. */
export function writeJson(document: unknown, indent: number): string {
  return JSON.stringify(document, null, indent).replace(
    /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
