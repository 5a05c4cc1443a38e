// Without zod, so that a command that only prints them does not load it.
import type { healthStates } from "./health-words.ts";

/** How an agent can have ended: it was done, its process ended otherwise, or it was stopped. */
export const overKinds = ["finished", "exited", "terminated"] as const;

/** `code` and `signal` are those of its process: both `null` where Rouse saw no process, or not its end. */
export interface HowOver {
  readonly how: (typeof overKinds)[number];
  readonly code: number | null;
  readonly signal: string | null;
}

/**
 * What is shown instead of a state once an agent has ended: `FINISHED`, `exited 7`, `ended by SIGKILL`, `TERMINATED`.
 */
export function overWord({ how, code, signal }: HowOver): string {
  if (how !== "exited") return how.toUpperCase();
  return exitWord({ code, signal });
}

/** How a process ended, whether that is the end of its agent or not. */
export function exitWord({ code, signal }: Pick<HowOver, "code" | "signal">): string {
  if (signal !== null) return `ended by ${signal}`;
  return code === null ? "ended unseen" : `exited ${code}`;
}

/** Unhealthy while it lives, or ended unhealthy and handed to a person. */
export const isUnhealthy = (agent: {
  readonly state: (typeof healthStates)[number];
  readonly over: HowOver | null;
  readonly handedOver: { readonly because: string } | null;
}): boolean =>
  agent.state !== "HEALTHY" && agent.state !== "TERMINATED" && (agent.over === null || isPersonsMatter(agent));

/** Handed to a person and not settled: they did not end it themselves, and no other agent has its work. */
export const isPersonsMatter = ({
  handedOver,
}: {
  readonly handedOver: { readonly because: string } | null;
}): boolean => handedOver !== null && handedOver.because !== "ended-by-person" && handedOver.because !== "handed-off";

/** Whether an agent ended as wanted: for a condition in a script. */
export const isGoodEnd = ({ how, code }: HowOver): boolean => how === "finished" || (how === "exited" && code === 0);
