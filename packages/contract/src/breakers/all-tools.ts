import type { MonoMs } from "../time.ts";
import { ageOutAfter, type BreakerRules, type CallEnd } from "./breaker.ts";

interface Known {
  readonly tool: string;
  readonly at: MonoMs;
}

/**
 * What the breaker of all tools (`tool_execution`) remembers of them, so that one that fails has its own breaker opened
 * and leaves the others alone. Two names each are enough: all that is asked is whether there is another one.
 */
export interface ToolsSeen {
  /** Used lately, whatever came of it. */
  readonly used: readonly Known[];
  /** Failed since a call of any last went well. */
  readonly failed: readonly Known[];
}

export const allTools = "tool_execution";

export const noToolsSeen: ToolsSeen = { used: [], failed: [] };

export const noteUse = (seen: ToolsSeen, tool: string, now: MonoMs, rules: BreakerRules): ToolsSeen =>
  withUsed(seen, note(seen.used, tool, now, rules));

/**
 * The end of a call, and what it is to the breaker of all tools. A failure counts when tools fail and not one tool: two
 * of them since any went well, or the only one that is used at all. Otherwise it is neither for nor against, and a trial
 * that ended so gives its place to the next.
 */
export function endOfTool(
  seen: ToolsSeen,
  { tool, end, now }: { readonly tool: string; readonly end: CallEnd; readonly now: MonoMs },
  rules: BreakerRules,
): { readonly seen: ToolsSeen; readonly end: CallEnd } {
  const after = noteUse(seen, tool, now, rules);
  if (end === "aborted") return { seen: after, end };
  if (end === "succeeded") return { seen: after.failed.length === 0 ? after : { ...after, failed: [] }, end };
  const failed = note(after.failed, tool, now, rules);
  const counts = failed.length > 1 || after.used.every((one) => one.tool === tool);
  return { seen: failed === after.failed ? after : { ...after, failed }, end: counts ? "failed" : "aborted" };
}

/** Whether failures are known, and all of one tool that is not this one: they say nothing about this one. */
export const isAnothersFault = ({ failed }: ToolsSeen, tool: string): boolean =>
  failed.length === 1 && failed[0]?.tool !== tool;

/** The newest two. What is known well enough stays as it is: records are saved whenever they change. */
function note(known: readonly Known[], tool: string, now: MonoMs, rules: BreakerRules): readonly Known[] {
  const kept = known.filter(({ at }) => at > now - ageOutAfter(rules));
  const fresh = kept.filter(({ at }) => at > now - rules.recoveryTimeout);
  if (fresh.length > 1 || fresh.some((one) => one.tool === tool)) return kept.length === known.length ? known : kept;
  return [...kept.filter((one) => one.tool !== tool).slice(-1), { tool, at: now }];
}

const withUsed = (seen: ToolsSeen, used: readonly Known[]): ToolsSeen =>
  used === seen.used ? seen : { ...seen, used };
