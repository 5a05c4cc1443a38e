import { constants } from "node:fs";
import { type FileHandle, open, readFile, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { AuditSeal, printable } from "@rouse/contract";
import type { Anchor } from "../../ports/anchors.ts";

export interface FileAnchorPlace {
  readonly path: string;
  /** The data folder: a relative path is meant below it, and its database is no anchor. */
  readonly folder: string;
}

/** Bytes read from the end of the file: longer than any seal, so the last one is in it. */
const tailSize = 4096;

/** A file that grows by one line of JSON per seal. */
export function openFileAnchor({ path, folder }: FileAnchorPlace): Anchor {
  const file = resolve(folder, path);
  return {
    async place(seal) {
      await refuseDatabase(file, folder);
      const handle = await openToAppend(file);
      try {
        await append(handle, file, seal);
      } finally {
        await handle.close();
      }
    },
    async read() {
      const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
        throw new Error(`${printable(file)} cannot be read (${error.code})`);
      });
      return text.split("\n").filter(Boolean).map(parse);
    },
  };
}

/** Refuses the database's files, also empty ones such as its log: what we append would be lost, or destroy it. */
async function refuseDatabase(file: string, folder: string): Promise<void> {
  const name = await realpath(file).catch(async () =>
    join(await realpath(dirname(file)).catch(() => ""), basename(file)),
  );
  if (dirname(name) === (await realpath(folder)) && /\.db(?:-|$)/.test(basename(name)))
    throw new Error(`${printable(file)} belongs to the database; an anchor lies outside of it`);
}

async function openToAppend(file: string): Promise<FileHandle> {
  const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  const handle = await open(file, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600).catch(
    (error: NodeJS.ErrnoException) => {
      throw new Error(`${printable(file)} cannot be written (${error.code})`);
    },
  );
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw new Error(`${printable(file)} is not a file`);
}

async function append(handle: FileHandle, file: string, seal: AuditSeal): Promise<void> {
  const { size } = await handle.stat();
  const tail = Buffer.alloc(Math.min(size, tailSize));
  await handle.read(tail, 0, tail.length, size - tail.length);
  const text = tail.toString("utf8");
  const last = text.split("\n").findLast((line) => AuditSeal.safeParse(parse(line)).success);
  // A power cut may have left half of the first line.
  if (last === undefined && !text.startsWith('{"time":') && text !== "")
    throw new Error(`${printable(file)} holds something else than seals; name a file of its own`);
  const line = JSON.stringify(seal);
  if (last === line) return;
  await handle.chmod(0o600);
  await handle.appendFile(`${text === "" || text.endsWith("\n") ? "" : "\n"}${line}\n`);
  await handle.sync();
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
