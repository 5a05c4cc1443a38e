/** The last texts, as digests, oldest first. Bounded; what has fallen out is new again. */
export type SeenLately = ReadonlySet<string>;

export const nothingSeen: SeenLately = new Set();
const most = 500;

/** Which of the digests are new, and what has been seen with them. A call in which nothing is new costs no copy. */
export function notice(seen: SeenLately, digests: readonly string[]): { seen: SeenLately; novel: number } {
  let next: Set<string> | null = null;
  let novel = 0;
  for (const digest of digests) {
    if ((next ?? seen).has(digest)) continue;
    next ??= new Set(seen);
    next.add(digest);
    novel++;
    if (next.size > most) for (const oldest of next) if (next.delete(oldest)) break;
  }
  return { seen: next ?? seen, novel };
}
