import type { Random } from "./random.ts";

/** What a held agent is like for all its lives. */
export interface Traits {
  /** Name of the policy it is started with; the monitor's own choice when `null`. */
  readonly policy: string | null;
  /** Rouse may stop it and start it again. */
  readonly mayAct: boolean;
  readonly structured: boolean;
  readonly beats: boolean;
  readonly saves: boolean;
  /** Started in a person's terminal. */
  readonly foreground: boolean;
  readonly input: "stdin" | "terminal" | "none";
  readonly repository: boolean;
  /** It works for hours without a word to anybody: it may be taken for stuck, and must not be stopped for it. */
  readonly secretive: boolean;
  /** It prints nothing while it works and waits for others all the time: only its beats and checkpoints tell of what it does. */
  readonly mute: boolean;
  /** Its beats reach nobody for hours on end although it goes on working: it may be missed, and must not be stopped for it. */
  readonly hoarse: boolean;
}

/** Traits as they are met: most may be stopped and started again, a few are watched only, protected, or in somebody's terminal. */
export function chooseTraits(random: Random, policies: boolean): Traits {
  const roll = random.next();
  const special = policies
    ? roll < 0.05
      ? "assisted"
      : roll < 0.09
        ? "watched"
        : roll < 0.13
          ? "guarded"
          : null
    : "default";
  const structured = random.chance(0.15);
  const foreground = random.chance(0.06);
  const beats = random.chance(0.45);
  const mute = beats && !structured && random.chance(0.15);
  return {
    policy: special,
    mayAct: special === null || special === "default",
    structured,
    beats,
    saves: random.chance(0.7),
    foreground,
    input: structured ? "stdin" : random.chance(0.85) ? "terminal" : "none",
    repository: random.chance(0.7),
    secretive: !structured && !beats && random.chance(0.15),
    mute,
    hoarse: beats && !mute && random.chance(0.15),
  };
}
