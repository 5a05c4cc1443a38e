import { type BreakerRules, type CallEnd, endOfTool, isAnothersFault, noToolsSeen, noteUse } from "@rouse/contract";
import { type BreakerChange, BreakerOpenError, type CircuitBreaker } from "./breaker.ts";
import { steady } from "./steady.ts";

/**
 * The breaker of all tools, in front of calls of each. One tool that fails opens it only where no other is used, and
 * even then it holds back no other: a call of another shows whether tools fail, or that tool.
 */
export function guardAllTools(breaker: () => CircuitBreaker, rules: () => BreakerRules) {
  const now = steady(() => performance.now());
  let seen = noToolsSeen;
  /** The tool whose trial failed last. */
  let tried: string | null = null;
  /** Calls that were let past. */
  let passing = 0;

  const end = (tool: string, how: CallEnd): CallEnd => {
    const ended = endOfTool(seen, { tool, end: how, now: now() }, rules());
    seen = ended.seen;
    return ended.end;
  };

  /** A tool that fails and is always tried first must not keep another from ever being tried: that one has one go as well. */
  const mayPass = (tool: string): boolean =>
    isAnothersFault(seen, tool) || (tried !== null && tried !== tool && passing === 0);

  function pass(tool: string): (how: CallEnd) => void {
    const { period } = breaker().save();
    passing += 1;
    return (how) => {
      passing -= 1;
      const ended = end(tool, how);
      if (ended === "succeeded" && breaker().save().period === period) breaker().reset();
      if (how === "failed") tried = null;
    };
  }

  return {
    /** What is to be told how the call ended, or why it must not be made. */
    enter(tool: string): ((how: CallEnd) => void) | BreakerOpenError {
      const ticket = breaker().enter();
      if (ticket instanceof BreakerOpenError && !mayPass(tool)) return ticket;
      seen = noteUse(seen, tool, now(), rules());
      if (ticket instanceof BreakerOpenError) return pass(tool);
      return (how) => {
        const ended = end(tool, how);
        if (ended === "failed" && ticket.trial !== null) tried = tool;
        breaker().leave(ticket, ended);
      };
    },
    changed({ to }: BreakerChange): void {
      if (to !== "CLOSED") return;
      seen = { ...seen, failed: [] };
      tried = null;
    },
  };
}
