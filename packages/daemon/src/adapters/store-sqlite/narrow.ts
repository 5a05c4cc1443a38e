/** A WHERE clause of the conditions whose value is given, and those values in order. */
export function narrow(wanted: readonly (readonly [condition: string, value: string | number | undefined])[]) {
  const asked = wanted.filter(([, value]) => value !== undefined);
  const where = asked.length === 0 ? "" : `WHERE ${asked.map(([condition]) => condition).join(" AND ")}`;
  return { where, values: asked.map(([, value]) => value) };
}
