import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync, writeSync } from "node:fs";
import type { ExitFile } from "./protocol/spec.ts";

/** For its owner only, and on the disk before it has a name: whoever finds the file finds all of it, also after a power cut. */
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

/** Longer than any exit file gets. */
const room = 512;

export interface ExitNote {
  write(exit: ExitFile): void;
  close(): void;
}

/**
 * Takes the room for an exit file while there is some, and keeps the file open: at the end it is overwritten where it lies, which
 * needs neither a free block nor a free descriptor. Until then it is blank. (A file system that never writes in place, such as btrfs,
 * may still want a block of its own.)
 */
export function reserveExit(path: string): ExitNote {
  const file = openSync(path, "w", 0o600);
  const put = (text: string) => {
    const bytes = Buffer.from(text.padEnd(room - 1, " ").concat("\n"), "utf8");
    for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done, bytes.length - done, done);
    fsyncSync(file);
  };
  let open = true;
  put("");
  return {
    write(exit) {
      if (open) put(JSON.stringify(exit));
    },
    close() {
      if (open) closeSync(file);
      open = false;
    },
  };
}
