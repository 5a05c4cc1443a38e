import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync, writeSync } from "node:fs";
import type { ExitFile } from "./protocol/spec.ts";

/** Writes and syncs a private temporary file. Renamed to `file`, it is found whole or not at all after a power cut. */
export function writeBeside(file: string, text: string): string {
  const temporary = `${file}.${process.pid}.new`;
  const handle = openSync(temporary, "w", 0o600);
  try {
    writeFileSync(handle, text);
    fsyncSync(handle);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(handle);
  }
  return temporary;
}

export function writeWhole(file: string, text: string): void {
  renameSync(writeBeside(file, text), file);
}

/** In bytes; longer than any exit file gets. */
const room = 512;

/**
 * Takes the room for an exit file while there is some, and keeps the file open. At the end the file is overwritten in
 * place, which needs neither a free block nor a free descriptor. Until then it is blank. (A file system that never
 * writes in place, such as btrfs, may still need a free block.)
 */
export function reserveExit(path: string) {
  const file = openSync(path, "w", 0o600);
  const put = (text: string) => {
    const bytes = Buffer.from(text.padEnd(room - 1, " ").concat("\n"), "utf8");
    for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done, bytes.length - done, done);
    fsyncSync(file);
  };
  let open = true;
  put("");
  return {
    write(exit: ExitFile): void {
      if (open) put(JSON.stringify(exit));
    },
    close(): void {
      if (open) closeSync(file);
      open = false;
    },
  };
}
