import type { FileHandle } from "node:fs/promises";

interface LeftBehind {
  readonly handle: FileHandle;
  /** The content at the last look, and when it was written. */
  bytes: Buffer;
  stamp: bigint | null;
  looks: number;
}

const looksEach = 3;
const mostKept = 8;

/** What somebody wrote into the old file after it was replaced. */
export interface LateWords {
  readonly before: Buffer;
  readonly now: Buffer;
}

/**
 * A program that opened the file just before it was replaced writes into the old one, which has no name any more. The
 * old file is kept open for a few looks, so that nothing written there is lost.
 */
export function hearLateWriters() {
  let kept: LeftBehind[] = [];

  async function readNews(left: LeftBehind): Promise<LateWords | null> {
    const { size, mtimeNs } = await left.handle.stat({ bigint: true });
    if (left.stamp === mtimeNs && Number(size) === left.bytes.length) return null;
    left.stamp = mtimeNs;
    const bytes = Buffer.alloc(Number(size));
    const { bytesRead } = await left.handle.read(bytes, 0, bytes.length, 0);
    const now = bytes.subarray(0, bytesRead);
    if (now.equals(left.bytes)) return null;
    const before = left.bytes;
    left.bytes = now;
    left.looks = 0;
    return { before, now };
  }

  async function drop(which: (left: LeftBehind, index: number) => boolean): Promise<void> {
    const over = kept.filter(which);
    kept = kept.filter((left) => !over.includes(left));
    for (const { handle } of over) await handle.close();
  }

  return {
    async keep(handle: FileHandle, bytes: Buffer): Promise<void> {
      kept.push({ handle, bytes, stamp: null, looks: 0 });
      await drop((_, index) => index < kept.length - mostKept);
    },
    async listen(): Promise<LateWords[]> {
      const heard: LateWords[] = [];
      for (const left of kept) {
        left.looks += 1;
        const news = await readNews(left);
        if (news !== null) heard.push(news);
      }
      await drop(({ looks }) => looks >= looksEach);
      return heard;
    },
    close: (): Promise<void> => drop(() => true),
  };
}

/** The file with the late words in it; `null` when both files were rewritten and nobody can say which one is meant. */
export function addLateWords(current: Buffer, ours: Buffer | null, { before, now }: LateWords): Buffer | null {
  if (now.subarray(0, before.length).equals(before)) return append(current, now.subarray(before.length));
  return ours?.equals(current) ? now : null;
}

const newline = Buffer.from("\n");

function append(current: Buffer, added: Buffer): Buffer {
  const isOpen = current.length > 0 && current[current.length - 1] !== newline[0];
  return Buffer.concat([current, isOpen ? newline : Buffer.alloc(0), added]);
}
