import type { Agent } from "../agent/agent-api.ts";

/** Nudges inside one request to a model. Each is told of once: answered, or not. */
export interface Carried {
  /** As Rouse worded them. */
  readonly texts: readonly string[];
  /** The model has answered the request they were in: the agent has seen them. */
  answered(): void;
  /** The request came to nothing: they go with the next one. */
  unanswered(): void;
}

interface Waiting {
  readonly text: string;
  readonly seen: () => void;
}

/**
 * Nudges on their way to the model. Rouse hears that one was seen when the promise of its handler is fulfilled, and
 * that is after a model has answered a request with the nudge in it, never before.
 */
export function carryNudges(agent: Agent, onNew: () => void = () => undefined) {
  const waiting: Waiting[] = [];

  agent.onNudge(
    ({ message }) =>
      new Promise<void>((resolve) => {
        waiting.push({ text: message, seen: resolve });
        onNew();
      }),
  );

  return {
    areWaiting: (): boolean => waiting.length > 0,
    /** Those that wait, for a request that is about to be made. */
    take(most = waiting.length): Carried {
      let taken = waiting.splice(0, most);
      const end = (each: (nudges: readonly Waiting[]) => void) => (): void => {
        const ended = taken;
        taken = [];
        each(ended);
      };
      return {
        texts: taken.map(({ text }) => text),
        answered: end((nudges) => {
          for (const { seen } of nudges) seen();
        }),
        unanswered: end((nudges) => {
          waiting.unshift(...nudges);
          if (nudges.length > 0) onNew();
        }),
      };
    },
  };
}
