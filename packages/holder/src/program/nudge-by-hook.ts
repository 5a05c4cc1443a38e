import type { NudgeDelivery, NudgeRefusal } from "@rouse/contract";
import type { Nudge } from "../nudge/type-nudge.ts";
import type { HookAnswer } from "./listen-for-hooks.ts";

export type HookNudges = ReturnType<typeof nudgeByHook>;

/** Hooks that can carry a message: right before the model is asked, and at the end of a turn, which goes on then. */
const places: readonly string[] = ["PostToolBatch", "Stop"];
/** After these the model has answered, and so has read what it was given before. */
const answers: readonly string[] = ["PreToolUse", "PostToolBatch", "Stop"];
/**
 * Only these show that a turn is under way. Others also come while the program rests: that it has waited for long, that
 * its conversation was compacted.
 */
const turnGoesOn: readonly string[] = [
  "UserPromptSubmit",
  "PreToolUse",
  "PostToolUse",
  "PostToolUseFailure",
  "PostToolBatch",
];
/** After these no hook that can carry a message comes before a person writes again. */
const turnEnds: readonly string[] = ["Stop", "StopFailure", "SessionEnd"];

interface Waiting {
  readonly nudge: Nudge;
  settle(delivery: NudgeDelivery): void;
}

/** Gives a message to a model through the answer to a hook. */
export function nudgeByHook() {
  let underWay = false;
  let over = false;
  let waiting: Waiting | null = null;
  let given: { id: string; text: string } | null = null;

  function refuse(because: NudgeRefusal): void {
    waiting?.settle({ kind: "not-sent", because });
  }

  /** The screen shows that the program waits for a person: a turn that a person interrupts ends without a hook. */
  function rests(): void {
    underWay = false;
    refuse("no-input");
  }

  function answer(event: string): HookAnswer | null {
    if (waiting === null || !places.includes(event)) return null;
    const { nudge, settle } = waiting;
    if (Date.now() > nudge.notAfter || !nudge.begin()) return null;
    waiting = null;
    given = { id: nudge.id, text: nudge.text };
    return {
      body: { hookSpecificOutput: { hookEventName: event, additionalContext: nudge.text } },
      written(all) {
        if (!all) given = null;
        settle(all ? { kind: "sent", channel: "hook", echoed: false } : { kind: "not-sent", because: "not-echoed" });
      },
    };
  }

  return {
    /** Whether a hook will come that can carry a message: a turn is under way. */
    possible: () => underWay && !over,
    give(nudge: Nudge): Promise<NudgeDelivery> {
      if (over) return Promise.resolve({ kind: "not-sent", because: "over" });
      return new Promise((resolve) => {
        const timer = setTimeout(() => refuse("expired"), Math.max(0, nudge.notAfter - Date.now()));
        waiting = {
          nudge,
          settle(delivery) {
            clearTimeout(timer);
            waiting = null;
            resolve(delivery);
          },
        };
      });
    },
    /**
     * A hook of the main agent was called. Returns its answer, and the nudge that this call shows to have been read.
     */
    heard(event: string): { readonly answer: HookAnswer | null; readonly read: string | null } {
      const read = given !== null && answers.includes(event) ? given.id : null;
      if (read !== null) given = null;
      const said = answer(event);
      // The person who writes now has seen the state of the agent.
      if (event === "UserPromptSubmit") refuse("attached");
      if (said !== null || turnGoesOn.includes(event)) underWay = true;
      else if (turnEnds.includes(event)) rests();
      return { answer: said, read };
    },
    /** Withdraws a nudge that waits. Nothing happens when it was given already. */
    withdraw(id: string): void {
      if (waiting?.nudge.id === id) refuse("expired");
    },
    rests,
    /** A nudge that was given and not confirmed yet. */
    given: (): { readonly id: string; readonly text: string } | null => given,
    /** The agent has ended. */
    end(): void {
      over = true;
      refuse("over");
    },
  };
}
