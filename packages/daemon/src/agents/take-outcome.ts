import type { Action, ActionOutcome } from "@rouse/core";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { Moment } from "../engine/steady-clock.ts";
import type { Agents } from "./host-agents.ts";

interface HandParts {
  readonly agents: Agents;
  readonly commits: GroupCommit;
  readonly readClock: () => Moment;
  /** Calls back after every commit, until it is told to stop. */
  readonly afterCommits: (look: () => void) => () => void;
}

/**
 * Turns what the hands report into signals. While the store is down nobody can be heard, so nobody is judged by what comes then: it waits for the
 * store, and for the outage to be known as a gap.
 */
export function takeOutcomes({ agents, commits, readClock, afterCommits }: HandParts) {
  let waiting: (readonly [Action, ActionOutcome])[] = [];

  function wait(action: Action, outcome: ActionOutcome): void {
    if (waiting.push([action, outcome]) > 1) return;
    const unsubscribe = afterCommits(() => {
      unsubscribe();
      const late = waiting;
      waiting = [];
      for (const [action, outcome] of late) agents.actionDone(action, outcome, readClock());
    });
  }

  return (action: Action, outcome: ActionOutcome): void => {
    if (commits.down() === null) agents.actionDone(action, outcome, readClock());
    else wait(action, outcome);
  };
}
