import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";

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
