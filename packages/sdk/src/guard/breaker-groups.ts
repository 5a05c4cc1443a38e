import { type BreakerOptions, type CallOptions, type CircuitBreaker, createBreaker } from "./breaker.ts";

export interface BreakersOptions<T> extends BreakerOptions<T> {
  /** Which endpoints share a breaker, such as `(url) => new URL(url).host`; each has its own when not given. */
  readonly groupOf?: (endpoint: string) => string;
  /** Breakers at most; 200 when not given. */
  readonly most?: number;
}

/** What those share for whom there is no place: an endless number of endpoints must not fill the memory. */
const others = "(others)";

/**
 * A breaker for each endpoint, or for each group of related ones, made when it is first called and named `NAME/GROUP`. When there are too many, one
 * goes that knows nothing bad; where all do, new groups share one.
 */
export function createBreakers<T = unknown>({ groupOf, most = 200, ...options }: BreakersOptions<T>) {
  if (!(Number.isInteger(most) && most > 0))
    throw new RangeError(`most breakers of a group are a whole number above 0, not ${most}`);
  const byGroup = new Map<string, CircuitBreaker<T>>();
  const create = (group: string): CircuitBreaker<T> => createBreaker({ ...options, name: `${options.name}/${group}` });
  const spare = create(others);

  function breakerFor(endpoint: string): CircuitBreaker<T> {
    const group = groupOf === undefined ? endpoint : groupOf(endpoint);
    const known = byGroup.get(group);
    if (known !== undefined) {
      // The one that was called longest ago comes first.
      byGroup.delete(group);
      byGroup.set(group, known);
      return known;
    }
    if (byGroup.size >= most && !dropOne()) return spare;
    const made = create(group);
    byGroup.set(group, made);
    return made;
  }

  function dropOne(): boolean {
    for (const [group, breaker] of byGroup) if (breaker.isUntroubled()) return byGroup.delete(group);
    return false;
  }

  return {
    for: breakerFor,
    run: <V extends T>(endpoint: string, call: () => V | Promise<V>, by?: CallOptions): Promise<V> =>
      breakerFor(endpoint).run(call, by),
    all: (): CircuitBreaker<T>[] => [...byGroup.values(), ...(spare.isUntroubled() ? [] : [spare])],
  };
}

export type CircuitBreakers<T = unknown> = ReturnType<typeof createBreakers<T>>;
