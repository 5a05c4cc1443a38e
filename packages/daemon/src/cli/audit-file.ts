import { closeSync, fchmodSync, fstatSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { Fault } from "@rouse/contract";
import { z } from "zod";
import type { WholeTrail } from "./ask-audit.ts";
import { writeJson } from "./surroundings.ts";

const what = "audit trail of Rouse";

const Place = z.object({ number: z.number().int(), hash: z.string() }).nullable();

/** The first line of an export. What it says of the end of the trail is signed. */
const Head = z.object({
  what: z.literal(what),
  format: z.literal(2),
  publicKey: z.string(),
  store: z.string().nullable(),
  head: Place,
  told: z.object({ time: z.string(), signature: z.string() }).nullable(),
});

/** As it was before trails were sealed. */
const OldHead = z.object({
  what: z.literal(what),
  format: z.literal(1),
  publicKey: z.string(),
  head: Place,
  anchor: Place,
});

/** A line that says what follows and how to check it, then one line of the trail per line. */
export function printTrail({ lines, publicKey, store, head, told }: WholeTrail): string {
  const first: z.infer<typeof Head> = { what, format: 2, publicKey, store, head, told };
  return [first, ...lines].map((line) => `${writeJson(line, 0)}\n`).join("");
}

/** Who did what is not for everybody: only its owner may read the file. */
export function writeTrail(file: string, text: string, overwrites: boolean): void {
  let handle: number | undefined;
  try {
    handle = openSync(file, overwrites ? "w" : "wx", 0o600);
    // One that is overwritten keeps the mode it had.
    if (fstatSync(handle).isFile()) fchmodSync(handle, 0o600);
    writeFileSync(handle, text);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === "EEXIST" ? "it exists; --force overwrites it" : `it cannot be written (${code})`;
    throw new Fault("bad-request", `${file}: ${why}`, { cause: error });
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

export function readTrail(file: string): WholeTrail {
  const [first = "", ...rest] = readText(file).split("\n");
  const lines = rest.filter((line) => line !== "").map(parse);
  const head = Head.safeParse(parse(first)).data;
  if (head !== undefined) return { ...head, lines, removed: null, anchors: [] };
  const old = OldHead.safeParse(parse(first)).data;
  if (old !== undefined) return { ...old, lines, store: null, removed: old.anchor, told: null, anchors: [] };
  throw new Fault("bad-request", `${file} is not what \`rouse audit export\` writes`);
}

export function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Fault("bad-request", `${file} cannot be read (${code})`, { cause: error });
  }
}

/** What is no JSON is no line either, and whoever checks the trail is told so. */
function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
