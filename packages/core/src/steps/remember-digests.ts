/**
 * Which digests were seen in a run, in bounded space: a table of fingerprints in which a newer digest takes the place of an older one with the same slot. Plain
 * numbers, so that it is saved with the record as it is.
 */
export type Memory = readonly number[];

const slots = 512;

export const emptyMemory: Memory = Array<number>(slots).fill(0);

export function hasSeen(memory: Memory, digest: string): boolean {
  const print = fingerprint(digest);
  return memory[print & (slots - 1)] === print;
}

export function remember(memory: Memory, digest: string): Memory {
  const print = fingerprint(digest);
  const slot = print & (slots - 1);
  if (memory[slot] === print) return memory;
  const next = memory.slice();
  next[slot] = print;
  return next;
}

/** FNV-1a with a last mix; 31 bits, so that it stays a small integer. Never 0, which is an empty slot. */
function fingerprint(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  hash ^= hash >>> 12;
  return (hash & 0x3fffffff) | 0x40000000;
}
