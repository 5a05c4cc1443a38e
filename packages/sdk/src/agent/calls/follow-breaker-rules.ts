import type { BreakerRules, BreakerSettings } from "@rouse/contract";
import type { Link } from "../link.ts";

/**
 * What the owner of Rouse wants of an agent's breaker, by its operation and by what stands before the first slash of
 * that. What the agent's author wrote goes before it.
 */
export type OwnersRules = (operation: string, root: string) => Partial<BreakerRules> | undefined;

interface RulesParts {
  readonly agentId: string;
  readonly link: Link;
  readonly obey: (rules: OwnersRules) => void;
}

const leastBetweenMs = 60_000;

/**
 * Asks for the owner's rules, in passing: apart from what beats, so that trouble with it is no trouble with the
 * connection. Whoever answers and has none (an older Rouse) is not asked again before Rouse has been away. Returns how
 * to say that it may have been.
 */
export function followBreakerRules({ agentId, link, obey }: RulesParts): () => void {
  let isWanted = true;
  let notBefore = Number.NEGATIVE_INFINITY;
  const closed = new AbortController();
  const { signal } = closed;
  const path = `/api/v1/agents/${encodeURIComponent(agentId)}/breaker-rules`;

  async function ask(): Promise<void> {
    const now = performance.now();
    if (!isWanted || now < notBefore || signal.aborted) return;
    notBefore = now + leastBetweenMs;
    isWanted = false;
    try {
      const answer = await link.aside({ path, signal });
      if (answer?.ok === true) obey(readRules(answer.body));
      else isWanted ||= answer === null || mayChange(answer);
    } catch {
      isWanted = true;
    }
  }

  function doubt(): void {
    isWanted = true;
    if (link.isOver()) closed.abort();
  }

  link.onAnswer(() => void ask());
  link.onTrouble(doubt);
  if (link.connection().state === "connected") void ask();
  return doubt;
}

/** Its process has not announced it yet, its token is being replaced, or it is too much now. */
const mayChange = ({ status, body }: { readonly status: number; readonly body: unknown }): boolean =>
  status === 401 || status === 429 || status >= 500 || read(body, "code") === "agent-unknown";

/** What is out of range is left out: a server has no say in whether an agent's breakers work. */
function readRules(body: unknown): OwnersRules {
  const usual = readRule(read(body, "default"));
  const by = new Map(Object.entries(read(body, "overrides") ?? {}));
  return (operation, root) => ({ ...usual, ...readRule(by.get(root)), ...readRule(by.get(operation)) });
}

const read = (from: unknown, name: string): unknown => (from as Record<string, unknown> | null | undefined)?.[name];

const ranges: readonly (readonly [keyof BreakerSettings["default"], keyof BreakerRules, most: number])[] = [
  ["failure_threshold", "failureThreshold", 1_000_000],
  ["half_open_requests", "halfOpenRequests", 1_000_000],
  ["recovery_timeout_seconds", "recoveryTimeout", 2_592_000],
];

function readRule(given: unknown): Partial<BreakerRules> {
  const rule: Partial<Record<keyof BreakerRules, number>> = {};
  for (const [setting, name, most] of ranges) {
    const value = read(given, setting);
    const isTime = name === "recoveryTimeout";
    if (typeof value !== "number" || !(value > 0 && value <= most) || !(isTime || Number.isInteger(value))) continue;
    rule[name] = isTime ? value * 1000 : value;
  }
  return rule;
}
