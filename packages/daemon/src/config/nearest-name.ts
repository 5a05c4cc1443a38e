/** Pairs of letters that are compared for one answer, some milliseconds: nobody else is served meanwhile. */
const mostCompared = 300_000;

/** The known name that was probably meant; undefined when none is near enough, or not among as many as are compared. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  const wanted = given.slice(0, 100).toLowerCase();
  let nearest: string | undefined;
  let best = Number.POSITIVE_INFINITY;
  let left = mostCompared;
  for (const name of known) {
    const most = Math.min(best - 1, mostMistakes(wanted, name));
    // Each letter more or less is a mistake: most names need no closer look.
    if (Math.abs(name.length - wanted.length) > most) continue;
    left -= wanted.length * name.length;
    if (left < 0) break;
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

/** Levenshtein: the fewest letters to add, drop or change. In one row of numbers: it runs for thousands of names. */
export function editDistance(a: string, b: string): number {
  const row = new Uint32Array(b.length + 1).map((_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const letter = a.charCodeAt(i - 1);
    let diagonal = i - 1;
    let left = i;
    row[0] = i;
    for (let j = 1; j <= b.length; j++) {
      const above = row[j] ?? 0;
      const change = diagonal + (letter === b.charCodeAt(j - 1) ? 0 : 1);
      left = Math.min(change, above + 1, left + 1);
      row[j] = left;
      diagonal = above;
    }
  }
  return row[b.length] ?? 0;
}
