import type { NudgeDelivery, NudgeRefusal } from "@rouse/contract";
import type { Nudge } from "../nudge/type-nudge.ts";
import type { HookAnswer } from "./listen-for-hooks.ts";

/** Puts words before a model where its program asks its hooks for some. */
export interface HookNudges {
  /** Whether such a place will come: a turn is under way. */
  possible(): boolean;
  give(nudge: Nudge): Promise<NudgeDelivery>;
  /** A hook of the main agent was called. What it is answered, and the nudge that this call shows to have been read. */
  heard(event: string): { readonly answer: HookAnswer | null; readonly read: string | null };
  /** Nobody wants it said any more. Nothing happens when it was given, or is another. */
  withdraw(id: string): void;
  /**
   * Its screen shows that it waits for a person, whatever its hooks said last: a turn that a person breaks off ends
   * without one.
   */
  rests(): void;
  /** Words that were given and not seen again yet. */
  given(): { readonly id: string; readonly text: string } | null;
  /** The agent is over. */
  end(): void;
}

/** Right before the model is asked; and at the end of a turn, which goes on then. */
const places: readonly string[] = ["PostToolBatch", "Stop"];
/** The model has answered: it was asked with whatever was put before it until then. */
const answers: readonly string[] = ["PreToolUse", "PostToolBatch", "Stop"];
/** Others come while it rests, too: that it has waited for long, that its conversation was made shorter. */
const turnGoesOn: readonly string[] = [
  "UserPromptSubmit",
  "PreToolUse",
  "PostToolUse",
  "PostToolUseFailure",
  "PostToolBatch",
];
/** No place comes before a person says something again. */
const turnEnds: readonly string[] = ["Stop", "StopFailure", "SessionEnd"];

interface Waiting {
  readonly nudge: Nudge;
  settle(delivery: NudgeDelivery): void;
}

export function nudgeByHook(): HookNudges {
  let underWay = false;
  let over = false;
  let waiting: Waiting | null = null;
  let given: { id: string; text: string } | null = null;

  function refuse(because: NudgeRefusal): void {
    waiting?.settle({ kind: "not-sent", because });
  }

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
    possible: () => underWay && !over,
    give(nudge) {
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
    heard(event) {
      const read = given !== null && answers.includes(event) ? given.id : null;
      if (read !== null) given = null;
      const said = answer(event);
      // Whoever speaks to it now has seen where it stands.
      if (event === "UserPromptSubmit") refuse("attached");
      if (said !== null || turnGoesOn.includes(event)) underWay = true;
      else if (turnEnds.includes(event)) rests();
      return { answer: said, read };
    },
    withdraw(id) {
      if (waiting?.nudge.id === id) refuse("expired");
    },
    rests,
    given: () => given,
    end() {
      over = true;
      refuse("over");
    },
  };
}
