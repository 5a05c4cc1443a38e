/** Small chunks are put together in blocks of this size: a program that writes letter by letter would otherwise cost an object each. */
const blockBytes = 64 * 1024;
const smallBytes = 16 * 1024;

/** Bytes on their way to the disk, in order. Large chunks are kept as they are, without being copied. */
export interface WaitingBytes {
  length(): number;
  push(chunk: Buffer): void;
  /** The first bytes, at most `most` of them. They stay until they are dropped. */
  peek(most: number): Buffer;
  drop(count: number): void;
}

export function createWaitingBytes(): WaitingBytes {
  let chunks: Buffer[] = [];
  let length = 0;
  /** The block small chunks go to, and how much of it is taken. Its taken part is the last of `chunks`. */
  let block: { readonly bytes: Buffer; taken: number } | null = null;
  /** Of the first chunk, this much is gone. */
  let gone = 0;

  return {
    length: () => length,
    push(chunk) {
      length += chunk.length;
      if (chunk.length >= smallBytes) {
        chunks.push(chunk);
        block = null;
      } else if (chunk.length > 0) addSmall(chunk);
    },
    peek(most) {
      const picked: Buffer[] = [];
      let count = -gone;
      for (const chunk of chunks) {
        if (count >= most) break;
        picked.push(chunk);
        count += chunk.length;
      }
      const whole = picked.length === 1 ? (picked[0] as Buffer) : Buffer.concat(picked);
      return whole.subarray(gone, gone + most);
    },
    drop(count) {
      length -= count;
      gone += count;
      let passed = 0;
      while (passed < chunks.length && gone >= (chunks[passed] as Buffer).length) {
        gone -= (chunks[passed] as Buffer).length;
        passed += 1;
      }
      chunks = chunks.slice(passed);
      if (chunks.length === 0) block = null;
    },
  };

  function addSmall(chunk: Buffer): void {
    if (block === null || block.taken + chunk.length > blockBytes) {
      block = { bytes: Buffer.allocUnsafeSlow(blockBytes), taken: 0 };
      chunks.push(block.bytes.subarray(0, 0));
    }
    chunk.copy(block.bytes, block.taken);
    block.taken += chunk.length;
    chunks[chunks.length - 1] = block.bytes.subarray(0, block.taken);
  }
}
