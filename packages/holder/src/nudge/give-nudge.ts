import { setTimeout as pause } from "node:timers/promises";
import type { AgentInput, NudgeDelivery, NudgeRefusal } from "@rouse/contract";
import { messageLine } from "@rouse/core";
import type { HookNudges } from "../program/nudge-by-hook.ts";
import type { SteerNudges } from "../program/nudge-by-steer.ts";
import type { ProgramWatch } from "../program/watch-program.ts";
import type { Spec } from "../protocol/spec.ts";
import type { AgentProcess } from "../terminal/agent-process.ts";
import type { TendedTerminal } from "../terminal/tend-terminal.ts";
import { within } from "../watch/clock.ts";
import type { AgentWatch } from "../watch/watch-agent.ts";
import { type Keyboard, type Nudge, notSent, typeNudge } from "./type-nudge.ts";

/** The input of an agent that reads lines of JSON. */
export interface MessageSlot {
  over(): boolean;
  /** A line of somebody else is written, but not its end. */
  midLine(): boolean;
  /** The most bytes of one line, its end included. */
  readonly longest: number;
  /** Called with the nudge right before it is written. */
  gave(nudge: Pick<Nudge, "id" | "text">): void;
  deliver(bytes: Buffer): Promise<boolean>;
}

export interface Ways {
  /** The best that is possible now. */
  input(): AgentInput;
  readonly hooks: HookNudges;
  readonly steer: SteerNudges;
  readonly slot: MessageSlot;
  /** `null`: it has no terminal. */
  readonly keyboard: Keyboard | null;
}

/** An agent that has not taken a line from its pipe by then is not reading. */
const takenWithinMs = 3000;

/** Gives nudges one at a time: the typed words of one would be a half-typed line to the other. */
export function giveNudges({ input, hooks, steer, slot, keyboard }: Ways) {
  const withdrawn = new Set<string>();
  let last: Promise<unknown> = Promise.resolve();

  async function give(nudge: Nudge): Promise<NudgeDelivery> {
    if (withdrawn.has(nudge.id)) return notSent("expired");
    switch (input()) {
      case "stdin":
        return writeMessage(slot, nudge);
      case "terminal":
        return type(nudge);
      case "hook":
        return slot.over() ? notSent("over") : hooks.give(nudge);
      case "steer":
        return slot.over() ? notSent("over") : steerOrType(nudge);
      case "none":
        return notSent(slot.over() ? "over" : "no-input");
    }
  }

  /** Types the words when Codex's server took nothing. Words that the server took show on the screen, too. */
  async function steerOrType(nudge: Nudge): Promise<NudgeDelivery> {
    const begin = (): boolean => {
      const may = nudge.begin();
      if (may) keyboard?.said(nudge.text, nudge.id);
      return may;
    };
    return (await steer.give({ ...nudge, begin })) ?? type(nudge);
  }

  async function type(nudge: Nudge): Promise<NudgeDelivery> {
    return keyboard === null ? notSent("no-input") : typeNudge(keyboard, nudge);
  }

  return {
    give(nudge: Nudge): Promise<NudgeDelivery> {
      const begin = (): boolean => !withdrawn.has(nudge.id) && nudge.begin();
      const work = last.then(() => give({ ...nudge, begin })).finally(() => withdrawn.delete(nudge.id));
      last = work.catch(() => {});
      return work;
    },
    /** A nudge that is not begun yet is not begun any more; one that was begun is given. */
    withdraw(id: string): void {
      withdrawn.add(id);
      hooks.withdraw(id);
    },
  };
}

/** Writes a line of its own. The screen, and who looks at it, do not matter: no key is pressed. */
async function writeMessage(slot: MessageSlot, { id, text, notAfter, begin }: Nudge): Promise<NudgeDelivery> {
  const bytes = Buffer.from(`${messageLine(text)}\n`, "utf8");
  if (slot.over()) return notSent("over");
  if (Date.now() > notAfter) return notSent("expired");
  if (bytes.length > slot.longest) return notSent("no-input");
  if (slot.midLine()) return notSent("half-typed");
  if (!begin()) return notSent("no-input");
  slot.gave({ id, text });
  const taken = await within(takenWithinMs, slot.deliver(bytes), null);
  if (taken === null) return notSent("not-echoed");
  return taken ? { kind: "sent", channel: "stdin", echoed: false } : notSent("no-input");
}

/** While a program starts, it shows no input, or one that it still draws. */
const notYet: readonly NudgeRefusal[] = ["no-input", "full-screen", "busy-screen"];
const lookMs = 500;
const patienceMs = 120_000;

/**
 * Types the opening of a life as soon as the program shows its input. A program that never does is at its prompt or
 * asks something, which is reported.
 */
export async function sayOpening(
  give: (nudge: Nudge) => Promise<NudgeDelivery>,
  text: string,
  notAfter = Date.now() + patienceMs,
): Promise<NudgeDelivery> {
  for (;;) {
    const delivery = await give({ id: "opening", text, notAfter, whenIdle: false, begin: () => true });
    if (delivery.kind === "sent" || !notYet.includes(delivery.because)) return delivery;
    await pause(lookMs, undefined, { ref: false });
  }
}

/** A terminal in line mode keeps no longer lines. */
const longestTerminalLine = 4095;

/** The ways to give a running agent a message. */
export function waysToReach(
  spec: Spec,
  { write, deliver }: AgentProcess,
  { screen, attached, midLine, untouchedMs }: TendedTerminal,
  program: ProgramWatch,
  { over, watch }: { over(): boolean; watch(): AgentWatch },
): Ways {
  return {
    input: program.input,
    hooks: program.nudges,
    steer: program.steer,
    slot: {
      over,
      midLine,
      deliver,
      longest: screen === null ? Number.POSITIVE_INFINITY : longestTerminalLine,
      gave: (nudge) => watch().gave(nudge),
    },
    keyboard: screen && {
      screen,
      get family() {
        return program.family();
      },
      patterns: () => watch().patterns(),
      // Whoever started the agent in their terminal decides what is typed there, even when they have just left.
      attached: () => spec.foreground || attached() > 0,
      untouchedMs,
      inFront: program.inFront,
      over,
      said(text, nudge) {
        watch().said(text);
        program.typed({ id: nudge, text });
      },
      taken(nudge) {
        if (!program.tellsReceipts()) watch().saw("screen", [{ kind: "nudge-read", nudge, by: "screen" }]);
      },
      write,
    },
  };
}
