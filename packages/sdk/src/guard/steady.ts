/**
 * A clock that never goes back, made of one that may: while it is set back nothing passes, and afterwards it goes on from there. What is no number is
 * no news.
 */
export function steady(now: () => number): () => number {
  let last = now();
  let added = 0;
  return () => {
    const at = now();
    if (!Number.isFinite(at)) return last + added;
    if (at < last) added += last - at;
    last = at;
    return at + added;
  };
}
