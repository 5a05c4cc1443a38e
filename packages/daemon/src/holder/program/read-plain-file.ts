import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from "node:fs";

export interface PlainFile {
  readonly handle: number;
  readonly size: number;
  readonly inode: number;
}

/**
 * Reads a file that lies where somebody else says. Opening a pipe would wait for a writer, and with us the agent's terminal: what is no plain file is not
 * read. `null`: it is none, or cannot be opened.
 */
export function readPlainFile<T>(file: string, read: (found: PlainFile) => T): T | null {
  try {
    const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = fstatSync(handle);
      return stat.isFile() ? read({ handle, size: stat.size, inode: stat.ino }) : null;
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return null;
  }
}

/** All of it. */
export const readPlainText = (file: string): string | null =>
  readPlainFile(file, ({ handle }) => readFileSync(handle, "utf8"));

/** For whoever has others open it. */
export function isPlainFile(file: string): boolean {
  try {
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
