import { allTools, type BreakerNews, type BreakerRules, type CallEnd } from "@rouse/contract";
import {
  BreakerOpenError,
  type BreakerOptions,
  type CircuitBreaker,
  checkRules,
  createBreaker,
  judgeError,
  judgeValue,
} from "../../guard/breaker.ts";
import { guardAllTools } from "../../guard/guard-all-tools.ts";
import type { OwnersRules } from "./follow-breaker-rules.ts";

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

type Options = Omit<BreakerOptions<unknown>, "name">;

const isMore = (own: Options, first: Options): boolean =>
  Object.entries(own).some(([option, value]) => first[option as keyof Options] !== value);

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
export function ownBreakers(given: Rules, changed: () => void, warn: (about: string, text: string) => void) {
  const own: Rules = Object.fromEntries(Object.entries(given).map(([name, rules]) => [operationOf(name), rules]));
  const all = new Map<string, CircuitBreaker>();
  let owners: OwnersRules = () => undefined;
  /** What the author gave for an operation: it holds wherever calls are behind it, and goes before everything else. */
  const options = new Map<string, Options>();
  /** How often each had changed when it last did: what is told meanwhile must not be forgotten. */
  const untold = new Map<string, number>();
  let changes = 0;

  const rulesOf = (operation: string): Partial<BreakerRules> => {
    const root = rootOf(operation);
    const { failureThreshold, recoveryTimeout, halfOpenRequests } = options.get(operation) ?? {};
    const given = { failureThreshold, recoveryTimeout, halfOpenRequests };
    const first = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    return { ...builtIn[root], ...owners(operation, root), ...own[root], ...own[operation], ...first };
  };

  const tools = guardAllTools(
    () => get(allTools),
    () => checkRules(rulesOf(allTools)),
  );

  function create(operation: string): CircuitBreaker {
    return createBreaker({
      ...options.get(operation),
      ...rulesOf(operation),
      name: operation,
      isFailure: (outcome) => options.get(operation)?.isFailure?.(outcome) ?? "error" in outcome,
      fallback(refused) {
        const fallback = options.get(operation)?.fallback;
        if (fallback === undefined) throw refused;
        return fallback(refused);
      },
      onChange(change) {
        untold.set(operation, ++changes);
        if (operation === allTools) tools.changed(change);
        changed();
        options.get(operation)?.onChange?.(change);
      },
    });
  }

  function get(name: string): CircuitBreaker {
    const operation = operationOf(name);
    const known = all.get(operation);
    if (known !== undefined) return known;
    const isRoom = all.size < mostBreakers || forgetOne();
    if (!isRoom && isPart(operation) && !operation.endsWith(others)) return get(rootOf(operation) + others);
    const breaker = create(operation);
    all.set(operation, breaker);
    return breaker;
  }

  /** The first options for an operation hold, from then on. */
  function give<T>(name: string, own: Omit<BreakerOptions<T>, "name">): CircuitBreaker<T> {
    checkRules(own);
    const operation = operationOf(name);
    const first = options.get(operation);
    if (first === undefined && Object.keys(own).length > 0) {
      options.set(operation, own as Options);
      all.get(operation)?.setRules(rulesOf(operation));
    }
    if (first !== undefined && isMore(own as Options, first))
      warn(operation, `options for the breaker ${operation} were given twice: the first hold`);
    return get(operation) as CircuitBreaker<T>;
  }

  /** What was given for these operations, the nearest to the call first. */
  function optionsFor<T>(operations: readonly string[]): Pick<GuardOptions<T>, "isFailure" | "fallback"> {
    const found = operations.flatMap((operation) => (options.get(operation) as BreakerOptions<T> | undefined) ?? []);
    return {
      isFailure: found.find(({ isFailure }) => isFailure !== undefined)?.isFailure,
      fallback: found.find(({ fallback }) => fallback !== undefined)?.fallback,
    };
  }

  /** The oldest that has nothing to remember: names of tools may be made up without end. Those that were given options go last. */
  function forgetOne(): boolean {
    for (const spares of [true, false])
      for (const [operation, breaker] of all)
        if (isPart(operation) && breaker.isUntroubled() && !(spares && options.has(operation))) {
          options.delete(operation);
          return all.delete(operation);
        }
    return false;
  }

  function enter(operation: string): ((how: CallEnd) => void) | BreakerOpenError {
    const breaker = get(operation);
    const ticket = breaker.enter();
    return ticket instanceof BreakerOpenError ? ticket : (how) => breaker.leave(ticket, how);
  }

  /** One call behind several breakers. It begins only when all let it, and then counts once with each. */
  async function guard<T>(
    operations: readonly string[],
    call: () => T | Promise<T>,
    { signal, isFailure, fallback }: GuardOptions<T>,
  ): Promise<T> {
    const entered: ((how: CallEnd) => void)[] = [];
    const leave = (how: CallEnd): void => {
      for (const leaveOne of entered) leaveOne(how);
    };
    for (const operation of operations) {
      const entry = operation === allTools ? tools.enter(operations[0] ?? operation) : enter(operation);
      if (!(entry instanceof BreakerOpenError)) {
        entered.push(entry);
        continue;
      }
      // A trial that another breaker refused gives its place back.
      leave("aborted");
      if (fallback === undefined) throw entry;
      return fallback(entry);
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
    give,
    optionsFor,
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
    /** From now on, for those that exist, too. */
    obey(rules: OwnersRules): void {
      owners = rules;
      for (const [operation, breaker] of all) breaker.setRules(rulesOf(operation));
    },
    reset(operation: string): void {
      all.get(operation)?.reset();
      if (all.has(operation)) untold.set(operation, ++changes);
    },
  };
}

export type OwnBreakers = ReturnType<typeof ownBreakers>;
