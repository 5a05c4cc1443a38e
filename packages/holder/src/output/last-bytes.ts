/** The end of what was written, in memory: there also when the disk is full. */
export interface LastBytes {
  push(chunk: Buffer): void;
  /** Offset of the first byte still here. */
  start(): number;
  end(): number;
  /** A copy of everything from `from` on that is still here. */
  from(from: number): Buffer;
}

export function createLastBytes(size: number, beginsAt: number): LastBytes {
  let ring: Buffer | null = null;
  let end = beginsAt;
  const start = () => Math.max(beginsAt, end - size);

  return {
    push(chunk) {
      ring ??= Buffer.allocUnsafeSlow(size);
      const kept = chunk.length > size ? chunk.subarray(chunk.length - size) : chunk;
      end += chunk.length;
      const place = (end - kept.length) % size;
      const first = kept.copy(ring, place, 0, Math.min(kept.length, size - place));
      kept.copy(ring, 0, first);
    },
    start,
    end: () => end,
    from(asked) {
      const begin = Math.min(end, Math.max(asked, start()));
      if (ring === null || begin === end) return Buffer.alloc(0);
      const [place, stop] = [begin % size, end % size];
      if (place < stop) return Buffer.from(ring.subarray(place, stop));
      return Buffer.concat([ring.subarray(place), ring.subarray(0, stop)]);
    },
  };
}
