import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault } from "@rouse/contract";

/** A socket's path has 108 bytes at most on Linux, 104 elsewhere. */
const longestPath = 100;

/** In the agent's own folder unless that is too deep; then in a folder of ours for temporary files, closed to everybody else. */
export function placeSocket(folder: string): string {
  const path = join(folder, "socket");
  if (Buffer.byteLength(path) <= longestPath) return path;
  const uid = process.getuid?.() ?? 0;
  const shared = join(tmpdir(), `rouse-${uid}`);
  mkdirSync(shared, { recursive: true, mode: 0o700 });
  // Anybody can make folders there: one that is not ours, or a link to somewhere, was put there for us to fall into.
  const found = lstatSync(shared);
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0) {
    throw new Fault(
      "data-folder-unusable",
      `${shared} is not a folder of ours alone; remove it or set TMPDIR to another`,
    );
  }
  return join(shared, `${randomBytes(8).toString("hex")}.sock`);
}
