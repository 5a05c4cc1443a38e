import type { ProcessFacts } from "@rouse/contract";
import type { Random } from "../world/random.ts";
import type { Timeline } from "../world/virtual-time.ts";

const minute = 60_000;
const hour = 60 * minute;

/** Ways of looking at the processes of an agent; `processes` is all of them at once. */
export const eyeNames = ["processes", "network", "files", "children", "terminal"] as const;
export type Eye = (typeof eyeNames)[number];

/** Looking fails: for one agent or for all of them, for a while or for good, one way of looking at a time or several. */
export function createEyes(timeline: Timeline, random: Random, agents: readonly string[]) {
  /** By eye and agent (or `all`): until when it sees nothing. */
  const shutUntil = new Map<string, number>();
  let failures = 0;

  const shut = (eye: Eye, whom: string, lasts: number): void => {
    failures += 1;
    const key = `${eye} ${whom}`;
    shutUntil.set(key, Math.max(shutUntil.get(key) ?? 0, timeline.now() + lasts));
  };

  const untilOf = (eye: Eye, agentId: string): number =>
    Math.max(shutUntil.get(`${eye} ${agentId}`) ?? 0, shutUntil.get(`${eye} all`) ?? 0);

  const isShut = (eye: Eye, agentId: string): boolean => timeline.now() < untilOf(eye, agentId);

  /** What was counted while nobody looked is seen at the next look, as real counters have it. */
  function look(agentId: string, facts: ProcessFacts): ProcessFacts | null {
    if (isShut("processes", agentId)) return null;
    return {
      ...facts,
      ...(isShut("network", agentId) ? { network: null } : {}),
      ...(isShut("files", agentId) ? { files: null } : {}),
      ...(isShut("children", agentId) ? { youngestChildAt: null } : {}),
      ...(isShut("terminal", agentId) ? { readsTerminal: null } : {}),
    };
  }

  const failFor = (): number => (random.chance(0.15) ? Number.POSITIVE_INFINITY : random.between(minute, 3 * hour));

  function planFailures(): void {
    if (agents.length === 0) return;
    const ofOne = (): void =>
      timeline.after(random.until((60 * hour) / agents.length), () => {
        shut(random.pick(eyeNames), random.pick(agents), failFor());
        ofOne();
      });
    const ofAll = (): void =>
      timeline.after(random.until(16 * hour), () => {
        shut(random.pick(eyeNames), "all", random.between(minute, 2 * hour));
        ofAll();
      });
    ofOne();
    ofAll();
  }

  return {
    look,
    planFailures,
    shutForGood: (eye: Eye, agentId: string): void => shut(eye, agentId, Number.POSITIVE_INFINITY),
    /** Whether the eye was open ever since, and for a while before: a reading from before it was shut still counts for a moment. */
    wasOpenSince: (eye: Eye, agentId: string, since: number): boolean => untilOf(eye, agentId) < since,
    failures: () => failures,
  };
}

export type Eyes = ReturnType<typeof createEyes>;
