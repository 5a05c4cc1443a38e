import { setTimeout as pause } from "node:timers/promises";
import type { AgentInput, EpochMs, NudgeDelivery, NudgeRefusal } from "@rouse/contract";
import { messageLine } from "@rouse/core";
import type { HookNudges } from "../program/nudge-by-hook.ts";
import type { SteerNudges } from "../program/nudge-by-steer.ts";
import type { ProgramWatch } from "../program/watch-program.ts";
import type { Spec } from "../protocol/spec.ts";
import type { AgentProcess } from "../terminal/agent-process.ts";
import type { TendedTerminal } from "../terminal/tend-terminal.ts";
import type { AgentWatch } from "../watch/watch-agent.ts";
import { type Keyboard, type Nudge, typeNudge } from "./type-nudge.ts";

/** An agent that reads lines of JSON. */
export interface MessageSlot {
  over(): boolean;
  /** Somebody else's line is half in it. */
  midLine(): boolean;
  /** What can be taken in one line, its end included. */
  readonly longest: number;
  /** What is about to be given. */
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

/** What it is given waits in a pipe of the system; one that has not taken it by then is not reading. */
const takenWithinMs = 3000;

export interface NudgeHands {
  give(nudge: Nudge): Promise<NudgeDelivery>;
  /** One that is under way is not begun any more; one that was begun is given. */
  withdraw(id: string): void;
}

/** One at a time: what is typed for one would be somebody's half-typed line for the other. */
export function giveNudges({ input, hooks, steer, slot, keyboard }: Ways): NudgeHands {
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

  /** Whoever could not be spoken to has heard nothing. What is said shows on the screen, too. */
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
    give(nudge) {
      const begin = (): boolean => !withdrawn.has(nudge.id) && nudge.begin();
      const work = last.then(() => give({ ...nudge, begin })).finally(() => withdrawn.delete(nudge.id));
      last = work.catch(() => {});
      return work;
    },
    withdraw(id) {
      withdrawn.add(id);
      hooks.withdraw(id);
    },
  };
}

const notSent = (because: Extract<NudgeDelivery, { kind: "not-sent" }>["because"]): NudgeDelivery => ({
  kind: "not-sent",
  because,
});

/** A line of its own. Nothing on the screen matters, and nobody who looks at it: no key is pressed. */
async function writeMessage(slot: MessageSlot, { id, text, notAfter, begin }: Nudge): Promise<NudgeDelivery> {
  const bytes = Buffer.from(`${messageLine(text)}\n`, "utf8");
  if (slot.over()) return notSent("over");
  if (isPast(notAfter)) return notSent("expired");
  if (bytes.length > slot.longest) return notSent("no-input");
  if (slot.midLine()) return notSent("half-typed");
  if (!begin()) return notSent("no-input");
  slot.gave({ id, text });
  const taken = await within(slot.deliver(bytes), takenWithinMs);
  if (taken === null) return notSent("not-echoed");
  return taken ? { kind: "sent", channel: "stdin", echoed: false } : notSent("no-input");
}

const isPast = (moment: EpochMs): boolean => Date.now() > moment;

function within<T>(work: Promise<T>, ms: number): Promise<T | null> {
  let timer: NodeJS.Timeout;
  const patience = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), ms);
  });
  return Promise.race([work, patience]).finally(() => clearTimeout(timer));
}

/** A program that starts shows no input at first, or one that it still draws. */
const notYet: readonly NudgeRefusal[] = ["no-input", "full-screen", "busy-screen"];
const lookMs = 500;
const patienceMs = 120_000;

/** Tells a program how its life begins, as soon as it shows where. One that never does stands at its prompt, or asks, which is told. */
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

/** A terminal that hands out whole lines keeps no longer ones. */
const longestTerminalLine = 4095;

/** How words come to an agent that runs. */
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
      // Whoever started it in their terminal decides what is typed there, even when they have just left.
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
