import { closeSync, fchmodSync, fstatSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { type EpochMs, Fault, toIso } from "@rouse/contract";
import { z } from "zod";
import type { WholeTrail } from "./ask-audit.ts";
import { writeJson } from "./surroundings.ts";

const what = "audit trail of Rouse";

const Place = z.object({ number: z.number().int(), hash: z.string() }).nullable();

/** The first line of an export. */
const Head = z.object({
  what: z.literal(what),
  format: z.literal(1),
  exportedAt: z.string(),
  publicKey: z.string(),
  head: Place,
  anchor: Place,
});

/** A line that says what follows and how to check it, then one line of the trail per line. */
export function printTrail({ lines, publicKey, head, anchor }: WholeTrail, now: EpochMs): string {
  const first: z.infer<typeof Head> = { what, format: 1, exportedAt: toIso(now), publicKey, head, anchor };
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
  const head = Head.safeParse(parse(first));
  if (!head.success) throw new Fault("bad-request", `${file} is not what \`rouse audit export\` writes`);
  const lines = rest.filter((line) => line !== "").map(parse);
  const { publicKey, head: end, anchor } = head.data;
  return { lines, publicKey, head: end, anchor };
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
