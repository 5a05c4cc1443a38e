import type { KillBudget, RouseEvent } from "@rouse/contract";

const second = 1000;

/** Our reading of the events comes up to one turn of the monitor's loop after they happened. */
const blur = 2.5 * second;

interface Spent {
  readonly at: number;
  readonly host: string;
}

/** Reckons the budgets anew from what was really done: never passed, and never said to be used up while something was left. */
export function judgeBudgets(budget: KillBudget, now: () => number, violated: (text: string) => void) {
  const { hostInterval, hostBurst, fleetKills, fleetWindow } = budget;
  let executed: Spent[] = [];
  let ordered: Spent[] = [];
  let most = 0;

  /** Tokens in the bucket of a host, filled one by one, at this moment. */
  function tokensOf(host: string, spent: readonly Spent[], at: number): number {
    let tokens = hostBurst;
    let last = Number.NEGATIVE_INFINITY;
    for (const one of spent) {
      if (one.host !== host) continue;
      tokens = Math.min(hostBurst, tokens + (one.at - last) / hostInterval) - 1;
      last = one.at;
    }
    return Math.min(hostBurst, tokens + (at - last) / hostInterval);
  }

  const lately = (spent: readonly Spent[]): Spent[] => spent.filter(({ at }) => at > now() - fleetWindow - 60 * second);

  return {
    /** The first signal of a stop that was our own decision. */
    noteExecuted(agentId: string, host: string): void {
      executed = [...lately(executed), { at: now(), host }];
      const inWindow = executed.filter(({ at }) => at > now() - fleetWindow + blur).length;
      most = Math.max(most, inWindow);
      if (inWindow > fleetKills) violated(`${agentId} is the ${inWindow}th agent stopped within the fleet's window`);
      const tokens = tokensOf(host, executed, now());
      if (tokens < -blur / hostInterval) violated(`${agentId} was stopped without a token of its host ${host}`);
    },
    note(event: RouseEvent, hostOf: (agentId: string) => string): void {
      if (event.type === "TERMINATION_ORDERED" && event.payload.because !== "ordered")
        ordered = [...lately(ordered), { at: now(), host: hostOf(event.payload.agentId) }];
      if (event.type !== "TERMINATION_REFUSED") return;
      const { agentId, because } = event.payload;
      if (because === "fleet-budget") {
        const left = fleetKills - ordered.filter(({ at }) => at > now() - fleetWindow - blur).length;
        if (left > 0) violated(`${agentId} was not stopped for the fleet's budget, of which ${left} were left`);
      }
      if (because === "host-budget") {
        const tokens = tokensOf(hostOf(agentId), ordered, now());
        if (tokens >= 1 + blur / hostInterval)
          violated(`${agentId} was not stopped for its host's budget, of which ${tokens.toFixed(1)} were left`);
      }
    },
    /** The most that were stopped within one window. */
    most: () => most,
  };
}

export type BudgetJudge = ReturnType<typeof judgeBudgets>;
