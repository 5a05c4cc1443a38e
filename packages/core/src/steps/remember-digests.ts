/**
 * The digests seen in a run, in bounded space. A fingerprint has four places, newest first; a fifth pushes the oldest
 * out. With one place each, two digests could push each other out in turn and both seem new each time. Plain numbers
 * are saved as they are; shelves keep the copy for each new one small.
 */
export type Memory = readonly (readonly number[])[];

const shelves = 16;
const perShelf = 32;
const places = 4;
const emptyShelf: readonly number[] = Array<number>(perShelf).fill(0);

export const emptyMemory: Memory = Array<readonly number[]>(shelves).fill(emptyShelf);

const shelfOf = (print: number): number => print & (shelves - 1);
const firstPlaceOf = (print: number): number => (print >>> 4) & (perShelf - places);

export function holds(memory: Memory, print: number): boolean {
  const shelf = memory[shelfOf(print)] ?? emptyShelf;
  const first = firstPlaceOf(print);
  for (let place = first; place < first + places; place++) if (shelf[place] === print) return true;
  return false;
}

export function remember(memory: Memory, print: number): Memory {
  if (holds(memory, print)) return memory;
  const shelf = (memory[shelfOf(print)] ?? emptyShelf).slice();
  const first = firstPlaceOf(print);
  for (let place = first + places - 1; place > first; place--) shelf[place] = shelf[place - 1] ?? 0;
  shelf[first] = print;
  const next = memory.slice();
  next[shelfOf(print)] = shelf;
  return next;
}

/**
 * The fingerprint of one or two texts: FNV-1a with a last mix, in 31 bits to stay a small integer. Never 0, an empty
 * place.
 */
export function fingerprint(text: string, more = ""): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  // Separates the two: "ab" and "c" is not "a" and "bc".
  hash = Math.imul(hash ^ 0xffff, 0x01000193);
  for (let i = 0; i < more.length; i++) hash = Math.imul(hash ^ more.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  hash ^= hash >>> 12;
  return (hash & 0x3fffffff) | 0x40000000;
}
