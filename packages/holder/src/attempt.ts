/** What `look` returns; `null` when it throws: gone meanwhile, hidden from us or not as expected. */
export function attempt<T>(look: () => T): T | null {
  try {
    return look();
  } catch {
    return null;
  }
}
