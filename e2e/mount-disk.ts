import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmdirSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { afterwards, cleanUp, makeFolder } from "./clean-up.ts";

export interface Disk {
  readonly folder: string;
  /** Leaves not a single byte. */
  fill(): void;
  makeRoom(): void;
  becomeReadOnly(): void;
}

const mount = (...args: string[]): boolean => spawnSync("mount", args).status === 0;

/** A disk of its own, small enough to be filled; `null` where we may not mount one. */
export function mountDisk(): Disk | null {
  const folder = join(makeFolder(), "home");
  mkdirSync(folder);
  if (!mount("-t", "tmpfs", "-o", "size=4m,mode=0700", "rouse-e2e", folder)) return null;
  afterwards(() => {
    // Lazily, so that not even a test gone wrong leaves one behind.
    if (spawnSync("umount", [folder]).status !== 0) spawnSync("umount", ["-l", folder]);
    rmdirSync(folder);
  });
  const ballast = join(folder, "ballast");
  return {
    folder,
    fill: () => writeUntilFull(ballast),
    makeRoom: () => rmSync(ballast),
    becomeReadOnly() {
      if (!mount("-o", "remount,ro", folder)) throw new Error(`${folder} could not be made read-only`);
    },
  };
}

export async function canMount(): Promise<boolean> {
  try {
    return process.getuid?.() === 0 && mountDisk() !== null;
  } finally {
    await cleanUp();
  }
}

function writeUntilFull(file: string): void {
  const handle = openSync(file, "w");
  try {
    for (let size = 64 * 1024; size >= 1; ) {
      try {
        writeSync(handle, Buffer.alloc(size));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
        size = Math.floor(size / 4);
      }
    }
  } finally {
    closeSync(handle);
  }
}
