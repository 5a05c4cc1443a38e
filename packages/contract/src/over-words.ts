// Without zod, so that a command that only prints them does not load it.
import type { healthStates } from "./health-words.ts";

/** How an agent can be over: it was done, its process ended otherwise, or it was stopped. */
export const overKinds = ["finished", "exited", "terminated"] as const;

/** `code` and `signal` are those of its process: both `null` where it had none that Rouse saw, or nobody saw the end. */
export interface HowOver {
  readonly how: (typeof overKinds)[number];
  readonly code: number | null;
  readonly signal: string | null;
}

/** The word that stands in place of a state once an agent is over: `FINISHED`, `exited 7`, `ended by SIGKILL`, `TERMINATED`. */
export function overWord({ how, code, signal }: HowOver): string {
  if (how !== "exited") return how.toUpperCase();
  return exitWord({ code, signal });
}

/** How a process ended, whether that is the end of its agent or not. */
export function exitWord({ code, signal }: Pick<HowOver, "code" | "signal">): string {
  if (signal !== null) return `ended by ${signal}`;
  return code === null ? "ended unseen" : `exited ${code}`;
}

/** Ill, and something may still be done about it; or ended ill, and somebody is called for it. */
export const isUnhealthy = (agent: {
  readonly state: (typeof healthStates)[number];
  readonly over: HowOver | null;
  readonly handedOver: { readonly because: string } | null;
}): boolean =>
  agent.state !== "HEALTHY" && agent.state !== "TERMINATED" && (agent.over === null || isPersonsMatter(agent));

/** A person was called for it, and it is not settled: neither did they end it themselves, nor has somebody else its work. */
export const isPersonsMatter = ({
  handedOver,
}: {
  readonly handedOver: { readonly because: string } | null;
}): boolean => handedOver !== null && handedOver.because !== "ended-by-person" && handedOver.because !== "handed-off";

/** Whether an end is what was wanted of it: for a condition in a script. */
export const isGoodEnd = ({ how, code }: HowOver): boolean => how === "finished" || (how === "exited" && code === 0);
