import type { NudgeRefusal } from "@rouse/contract";
import type { Random } from "../world/random.ts";
import type { Eye } from "./eyes.ts";

const minute = 60_000;
const hour = 60 * minute;

/** What anybody outside can see of processes that work without a word. */
export interface QuietLook {
  /** Share of a core. */
  readonly cpu: number;
  readonly sockets: number;
  readonly bytesPerSecond: number;
  readonly changesPerMinute: number;
  /** It runs as a child that was started for it. */
  readonly child: boolean;
  readonly readsTerminal: boolean;
  /** Lines between two looks that say what was said before. */
  readonly repeats: number;
}

const atRest: QuietLook = {
  cpu: 0.001,
  sockets: 0,
  bytesPerSecond: 0,
  changesPerMinute: 0,
  child: false,
  readsTerminal: false,
  repeats: 0,
};

/** One way of being well and quiet. */
export interface QuietKind {
  readonly lasts: readonly [number, number];
  readonly look: (random: Random) => QuietLook;
  /** Which eye can tell that it is well; `null`: none. */
  readonly shownBy: Eye | "stream" | "screen" | null;
  /** What a stream tells at its beginning: a call to a tool, with the time-out it declares, or a request to the model. */
  readonly opens?: { readonly what: "tool" | "model"; readonly declares: "enough" | "too-little" | "nothing" };
  readonly beats?: "by-timer" | "irregularly" | "once";
  /** Why nothing can be typed into its terminal meanwhile. */
  readonly refuses?: NudgeRefusal;
  /** It has no input at all. */
  readonly unreachable?: boolean;
}

const like =
  (look: Partial<QuietLook>): QuietKind["look"] =>
  () => ({ ...atRest, ...look });

const long = [20 * minute, 3 * hour] as const;

/** Agents that are well and show it as little as real ones do. */
export const quietKinds = {
  sleeper: { lasts: long, look: like({}), shownBy: null },
  "socket waiter": { lasts: long, look: like({ sockets: 1 }), shownBy: null },
  "slow download": { lasts: long, look: like({ sockets: 1, bytesPerSecond: 20_000, cpu: 0.005 }), shownBy: "network" },
  "remote work": { lasts: [hour, 8 * hour], look: like({}), shownBy: null, unreachable: true },
  poller: { lasts: long, look: like({ repeats: 30, sockets: 1 }), shownBy: null, beats: "once" },
  spinner: { lasts: long, look: like({ cpu: 0.03 }), shownBy: null, refuses: "busy-screen" },
  "low-CPU job": {
    lasts: long,
    look: (random) => ({ ...atRest, cpu: random.between(0.03, 0.15), child: true }),
    shownBy: null,
  },
  "silent editor": { lasts: long, look: like({ changesPerMinute: 12, cpu: 0.02 }), shownBy: "files" },
  starved: { lasts: [20 * minute, 100 * minute], look: like({ cpu: 0.02 }), shownBy: null, beats: "by-timer" },
  draft: { lasts: [20 * minute, 10 * hour], look: like({}), shownBy: "screen", refuses: "half-typed" },
  "unknown question": {
    lasts: [20 * minute, 10 * hour],
    look: like({ readsTerminal: true }),
    shownBy: "terminal",
    refuses: "busy-screen",
  },
  "open tool, declared": {
    lasts: long,
    look: (random) => ({ ...atRest, child: random.chance(0.5), sockets: 1 }),
    shownBy: "stream",
    opens: { what: "tool", declares: "enough" },
  },
  "open tool, undeclared": {
    lasts: long,
    look: (random) => ({ ...atRest, child: random.chance(0.5), sockets: 1 }),
    shownBy: null,
    opens: { what: "tool", declares: "nothing" },
  },
  "tool over its time-out": {
    lasts: long,
    look: like({ child: true, sockets: 1 }),
    shownBy: null,
    opens: { what: "tool", declares: "too-little" },
  },
  "long request": {
    lasts: [2 * minute, 10.5 * minute],
    look: like({ sockets: 1 }),
    shownBy: null,
    opens: { what: "model", declares: "nothing" },
  },
  "trickling request": {
    lasts: [10 * minute, 3 * hour],
    look: like({ sockets: 1, bytesPerSecond: 15 }),
    shownBy: "network",
    opens: { what: "model", declares: "nothing" },
  },
  "irregular beats": { lasts: [20 * minute, 4 * hour], look: like({}), shownBy: null, beats: "irregularly" },
  "beating timer": { lasts: long, look: like({}), shownBy: null, beats: "by-timer" },
} satisfies Readonly<Record<string, QuietKind>>;

export type QuietName = keyof typeof quietKinds;

export const quietNames = Object.keys(quietKinds) as readonly QuietName[];

export const quietKind = (name: QuietName): QuietKind => quietKinds[name];

/** By which eye, if any, it could be told from one that is ill. */
export function tellingEye({ shownBy, opens }: QuietKind): Eye {
  if (shownBy === "network" || shownBy === "files" || shownBy === "terminal") return shownBy;
  return opens?.what === "tool" ? "children" : "processes";
}

/** What a call says of how long it may take: more than it will, less, or nothing. */
export function declaredTimeout({ opens }: QuietKind, lasts: number, random: Random): number | null {
  if (opens?.what !== "tool" || opens.declares === "nothing") return null;
  return opens.declares === "enough" ? Math.ceil(lasts / 1000) + random.whole(30, 300) : random.whole(60, 600);
}
