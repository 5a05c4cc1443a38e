import type { BreakerNews, BreakerRules, CallEnd, Ticket } from "@rouse/contract";
import {
  BreakerOpenError,
  type BreakerOptions,
  type CircuitBreaker,
  checkRules,
  createBreaker,
  judgeError,
  judgeValue,
} from "../guard/breaker.ts";

type Rules = Readonly<Record<string, Partial<BreakerRules>>>;

const builtIn: Rules = {
  tool_execution: { failureThreshold: 5, recoveryTimeout: 30_000 },
  checkpoint_write: { failureThreshold: 3, recoveryTimeout: 120_000 },
};

/** As many of one agent as Rouse keeps, and a few to spare. */
const mostBreakers = 180;
const mostNews = 100;
/** What those share for whom there is no place. */
const others = "/_";

const rootOf = (operation: string): string => operation.split("/", 1)[0] ?? operation;
const isPart = (operation: string): boolean => operation.includes("/");

export interface GuardOptions<T> {
  readonly signal?: AbortSignal | undefined;
  readonly isFailure?: BreakerOptions<T>["isFailure"] | undefined;
  readonly fallback?: BreakerOptions<T>["fallback"] | undefined;
}

/** What each breaker is called: the same in the agent as where Rouse observes the calls itself. */
export const targetOf = (name: string): string => plain(name).replaceAll("/", "_").slice(0, 150) || "_";
/** Rouse would refuse every beat that tells of another name. */
const operationOf = (name: string): string =>
  plain(name)
    .replace(/^[^a-z\d]+/i, "")
    .slice(0, 200) || "operation";
const plain = (name: string): string => name.replaceAll(/[^\w.:@+/-]/g, "_");

const ruleNames = ["failureThreshold", "recoveryTimeout", "halfOpenRequests"];

/** Throws for rules that its author got wrong: a mistyped one would leave the usual in force, without a word. */
export function checkOwn(given: Rules): void {
  for (const [operation, rules] of Object.entries(given)) {
    const isRules = typeof rules === "object" && rules !== null;
    const odd = isRules ? Object.keys(rules).find((name) => !ruleNames.includes(name)) : String(rules);
    if (odd !== undefined)
      throw new RangeError(
        `the rules of breaker ${operation} have no "${odd}": breakers are { OPERATION: { ${ruleNames.join(", ")} } }`,
      );
    checkRules(rules);
  }
}

/** The breakers of one agent, one for each operation, and what Rouse has not heard of them yet. */
export function ownBreakers(given: Rules, changed: () => void) {
  const own: Rules = Object.fromEntries(Object.entries(given).map(([name, rules]) => [operationOf(name), rules]));
  const all = new Map<string, CircuitBreaker>();
  /** How often each had changed when it last did: what is told meanwhile must not be forgotten. */
  const untold = new Map<string, number>();
  let changes = 0;

  const rulesOf = (operation: string): Partial<BreakerRules> => {
    const root = rootOf(operation);
    return { ...builtIn[root], ...own[root], ...own[operation] };
  };

  function create<T>(operation: string, options: Omit<BreakerOptions<T>, "name">): CircuitBreaker<T> {
    return createBreaker<T>({
      ...rulesOf(operation),
      ...options,
      name: operation,
      onChange(change) {
        untold.set(operation, ++changes);
        changed();
        options.onChange?.(change);
      },
    });
  }

  /** The first word about an operation decides how its breaker is made. */
  function get<T>(name: string, options: Omit<BreakerOptions<T>, "name"> = {}): CircuitBreaker<T> {
    const operation = operationOf(name);
    const known = all.get(operation) as CircuitBreaker<T> | undefined;
    if (known !== undefined) return known;
    const isRoom = all.size < mostBreakers || forgetOne();
    if (!isRoom && isPart(operation) && !operation.endsWith(others)) return get(rootOf(operation) + others, options);
    const made = create<T>(operation, options);
    all.set(operation, made as CircuitBreaker);
    return made;
  }

  /** The oldest that has nothing to remember: names of tools may be made up without end. */
  function forgetOne(): boolean {
    for (const [operation, breaker] of all)
      if (isPart(operation) && breaker.isUntroubled()) return all.delete(operation);
    return false;
  }

  /** One call behind several breakers. It begins only when all let it, and then counts once with each. */
  async function guard<T>(
    operations: readonly string[],
    call: () => T | Promise<T>,
    { signal, isFailure, fallback }: GuardOptions<T>,
  ): Promise<T> {
    const entered: (readonly [CircuitBreaker, Ticket])[] = [];
    const leave = (how: CallEnd): void => {
      for (const [breaker, ticket] of entered) breaker.leave(ticket, how);
    };
    for (const operation of operations) {
      const breaker = get(operation);
      const ticket = breaker.enter();
      if (!(ticket instanceof BreakerOpenError)) {
        entered.push([breaker, ticket]);
        continue;
      }
      // A trial that another breaker refused gives its place back.
      leave("aborted");
      if (fallback === undefined) throw ticket;
      return fallback(ticket);
    }
    let value: T;
    try {
      value = await call();
    } catch (error) {
      leave(judgeError(error, signal, isFailure));
      throw error;
    }
    leave(judgeValue(value, isFailure));
    return value;
  }

  function tell(operation: string): BreakerNews[] {
    const breaker = all.get(operation);
    if (breaker === undefined) return [];
    const saved = breaker.save();
    return [
      {
        operation,
        state: breaker.state(),
        ...(saved.state === "closed" ? { failures: saved.failures.length } : {}),
        ...(saved.state === "open" ? { retryInSeconds: Math.min(Math.max(0, saved.reopenAt) / 1000, 2_592_000) } : {}),
      },
    ];
  }

  return {
    get,
    guard,
    /** What is to be told, and what to call once it was heard. */
    news(): { readonly breakers: readonly BreakerNews[]; heard(): void } {
      const told = [...untold].slice(0, mostNews);
      return {
        breakers: told.flatMap(([operation]) => tell(operation)),
        heard() {
          for (const [operation, change] of told) if (untold.get(operation) === change) untold.delete(operation);
        },
      };
    },
    /** Everything that is not closed is told again. */
    tellAll(): void {
      for (const [operation, breaker] of all) if (breaker.state() !== "CLOSED") untold.set(operation, ++changes);
    },
    reset(operation: string): void {
      all.get(operation)?.reset();
      if (all.has(operation)) untold.set(operation, ++changes);
    },
  };
}

export type OwnBreakers = ReturnType<typeof ownBreakers>;
