import { lstatSync, type Stats } from "node:fs";

/** As bytes, like the path itself. */
export const pathIn = (top: string, path: Buffer): Buffer => Buffer.concat([Buffer.from(`${top}/`), path]);

/** `null`: it is not there, nor can it be, because a file is where its folder was. */
export function statPath(path: Buffer): Stats | null {
  try {
    return lstatSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw error;
  }
}
