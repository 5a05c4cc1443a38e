import type { AgentFamily, EyeState, Sight } from "@rouse/contract";

type LimitSight = Extract<Sight, { kind: "rate-limited" }>;

/** Their hooks or session files tell of every usage limit, within moments. */
const tellLimits: ReadonlySet<AgentFamily> = new Set<AgentFamily>(["claude-code", "codex"]);
const belongTogetherMs = 60_000;
const mostUnconfirmed = 4;

const isLimit = (sight: Sight): sight is LimitSight => sight.kind === "rate-limited";

/** Whether a program is heard by an eye that would tell of a usage limit. */
export const wouldTellLimits = (family: AgentFamily, eyes: readonly EyeState[]): boolean =>
  tellLimits.has(family) && eyes.some(({ eye, sees }) => sees && (eye === "hooks" || eye === "session-file"));

/**
 * A conversation that is taken up again is drawn with the limits it once ran into, and a screen that is drawn anew shows them as if they were news. Where the
 * program itself tells of its limits, what its screen says of one counts only together with that.
 */
export function confirmLimits() {
  let toldAt = Number.NEGATIVE_INFINITY;
  let unconfirmed: readonly { readonly sight: LimitSight; readonly at: number }[] = [];
  return {
    /** What counts, now, of what a screen shows. */
    shown(sights: readonly Sight[], wouldTell: boolean, now: number): readonly Sight[] {
      if (!wouldTell || now - toldAt < belongTogetherMs) return sights;
      const waiting = sights.filter(isLimit).filter(({ what }) => what === "usage");
      unconfirmed = [...unconfirmed, ...waiting.map((sight) => ({ sight, at: now }))].slice(-mostUnconfirmed);
      return sights.filter((sight) => !isLimit(sight) || !waiting.includes(sight));
    },
    /** The program has told these: what its screen had shown of the same limit just before. */
    told(sights: readonly Sight[], now: number): readonly Sight[] {
      if (!sights.some(isLimit)) return [];
      toldAt = now;
      const confirmed = unconfirmed.filter(({ at }) => now - at < belongTogetherMs);
      unconfirmed = [];
      return confirmed.map(({ sight, at }) => ({
        ...sight,
        resetsInMs: sight.resetsInMs === null ? null : Math.max(0, sight.resetsInMs - (now - at)),
      }));
    },
  };
}
