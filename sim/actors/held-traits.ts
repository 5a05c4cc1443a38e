import type { Random } from "../world/random.ts";
import { type QuietName, quietKind, quietNames } from "./quiet-kinds.ts";

const minute = 60_000;

/** What a held agent is like for all its lives. */
export interface Traits {
  /** Name of the policy it is started with; the monitor's own choice when `null`. */
  readonly policy: string | null;
  /** Rouse may stop it and start it again. */
  readonly mayAct: boolean;
  readonly structured: boolean;
  readonly beats: boolean;
  /** When it beats: every few minutes or seconds whatever it does, now and then, or once in a life. */
  readonly rhythm: "minutes" | "seconds" | "irregular" | "once";
  /** Who reads what comes with an acknowledgement: the agent itself, which answers if it is well, or a program around it. */
  readonly readBy: "agent" | "program";
  readonly saves: boolean;
  /** Started in a person's terminal. */
  readonly foreground: boolean;
  readonly input: "stdin" | "terminal" | "none";
  readonly repository: boolean;
  /** In which way it is quiet for long although it is well; `null`: in none. */
  readonly quiet: QuietName | null;
  /** Its owner's rule: to be stopped when it is idle for so long. */
  readonly idleKill: number | null;
  /** It works for hours without a word to anybody: it may be taken for stuck, and must not be stopped for it. */
  readonly secretive: boolean;
  /** It prints nothing while it works and waits for others all the time: only its beats and checkpoints tell of what it does. */
  readonly mute: boolean;
  /** Its beats reach nobody for hours on end although it goes on working: it may be missed, and must not be stopped for it. */
  readonly hoarse: boolean;
}

/** Traits as they are met. By their number, so that however few there are, each way of being quiet and each rule of an owner is among them. */
export function chooseTraits(number: number, random: Random, policies: boolean): Traits {
  const group = Math.floor(number / 5);
  const place = number % 5;
  const ordinary = chooseOrdinary(random, policies);
  if (place < 3) return beQuiet(ordinary, quietNames[(3 * group + place) % quietNames.length] as QuietName, policies);
  if (number % 40 === 19) return promiseToBeat(ordinary);
  if (number % 20 === 14) return { ...beStopped(ordinary, policies), idleKill: 30 * minute, secretive: false };
  return ordinary;
}

/** Nothing keeps Rouse from stopping it but that there is no reason to. */
const beStopped = (traits: Traits, policies: boolean): Traits => ({
  ...traits,
  policy: policies ? null : "default",
  mayAct: true,
  foreground: false,
});

function beQuiet(traits: Traits, quiet: QuietName, policies: boolean): Traits {
  const { opens, beats, unreachable } = quietKind(quiet);
  const structured = opens !== undefined;
  const rhythm = beats === "once" ? "once" : beats === "irregularly" ? "irregular" : "minutes";
  return {
    ...beStopped(traits, policies),
    quiet,
    structured,
    beats: beats !== undefined,
    rhythm,
    input: structured ? "stdin" : unreachable === true ? "none" : "terminal",
    secretive: false,
    mute: false,
    hoarse: false,
  };
}

/** One of a fleet of fast workers: it beats by a timer every few seconds and is to be started again when it does not. */
const promiseToBeat = (traits: Traits): Traits => ({
  ...traits,
  policy: "fleet",
  mayAct: true,
  foreground: false,
  structured: false,
  beats: true,
  rhythm: "seconds",
  input: "terminal",
  secretive: false,
  mute: false,
  hoarse: false,
});

/** Most may be stopped and started again, a few are watched only, protected, or in somebody's terminal. */
function chooseOrdinary(random: Random, policies: boolean): Traits {
  const roll = random.next();
  const special = policies
    ? roll < 0.1
      ? "assisted"
      : roll < 0.18
        ? "watched"
        : roll < 0.26
          ? "guarded"
          : null
    : "default";
  const structured = random.chance(0.3);
  const foreground = random.chance(0.1);
  const beats = random.chance(0.45);
  const mute = beats && !structured && random.chance(0.15);
  return {
    policy: special,
    mayAct: special === null || special === "default",
    structured,
    beats,
    rhythm: "minutes",
    readBy: random.chance(0.3) ? "agent" : "program",
    saves: random.chance(0.7),
    foreground,
    input: structured ? "stdin" : random.chance(0.85) ? "terminal" : "none",
    repository: random.chance(0.7),
    quiet: null,
    idleKill: null,
    secretive: !structured && !beats && random.chance(0.15),
    mute,
    hoarse: beats && !mute && random.chance(0.15),
  };
}
