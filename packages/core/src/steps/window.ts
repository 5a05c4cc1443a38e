import type { Reply, Step, StepTrail } from "./step.ts";

/** What a run shows since its window began. */
export interface Window {
  readonly steps: readonly Step[];
  readonly replies: readonly Reply[];
  readonly said: readonly Reply[];
}

/** How often something repeats, and what shows it, oldest first. */
export interface Seen {
  readonly times: number;
  readonly shown: readonly { readonly event: number }[];
}

export type Detector = (window: Window) => Seen | null;

export const tell = (shown: Seen["shown"]): Seen | null => (shown.length === 0 ? null : { times: shown.length, shown });

export function windowOf(trail: StepTrail): Window {
  const { windowFrom, steps, replies, said } = trail;
  if (windowFrom === 0) return trail;
  return { steps: since(steps, windowFrom), replies: since(replies, windowFrom), said: since(said, windowFrom) };
}

/** Once everything older has been forgotten there is nothing to leave out. */
const since = <T extends { readonly event: number }>(list: readonly T[], from: number): readonly T[] =>
  list[0] === undefined || list[0].event >= from ? list : list.filter(({ event }) => event >= from);

/** Whether there is anything new for detectors to look at. */
export const hasMoved = (before: StepTrail | null, after: StepTrail): boolean =>
  before === null ||
  before.steps !== after.steps ||
  before.replies !== after.replies ||
  before.said !== after.said ||
  before.windowFrom !== after.windowFrom;
