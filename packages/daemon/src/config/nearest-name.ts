/** The known name that was probably meant; undefined when none is near enough. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  const wanted = given.slice(0, 100).toLowerCase();
  let nearest: string | undefined;
  let best = Number.POSITIVE_INFINITY;
  for (const name of known) {
    const most = Math.min(best - 1, mostMistakes(wanted, name));
    // Each letter more or less is a mistake: most names need no closer look.
    if (Math.abs(name.length - wanted.length) > most) continue;
    const distance = editDistance(wanted, name.toLowerCase());
    if (distance > most) continue;
    best = distance;
    nearest = name;
  }
  // The unit is what people leave out most: `idle_timeout` for `idle_timeout_minutes`.
  return nearest ?? known.find((name) => name.startsWith(`${wanted}_`));
}

/**
 * A third of the letters may be wrong: `interval_secs` is three away from `interval_seconds`. Two always may, but never
 * more than half of a short name: a suggestion that shares nothing with what was typed only confuses.
 */
const mostMistakes = (given: string, name: string): number =>
  Math.min(Math.max(2, Math.floor(given.length / 3)), Math.floor(name.length / 2));

/** Levenshtein: the fewest letters to add, drop or change. */
export function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = at(previous, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(change, at(previous, j) + 1, at(row, j - 1) + 1));
    }
    previous = row;
  }
  return at(previous, b.length);
}

const at = (row: readonly number[], i: number): number => row[i] ?? Number.POSITIVE_INFINITY;
