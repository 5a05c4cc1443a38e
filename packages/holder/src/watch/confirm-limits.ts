import type { AgentFamily, EyeState, Sight } from "@rouse/contract";

type LimitSight = Extract<Sight, { kind: "rate-limited" }>;

/** The hooks or session files of these tell of every usage limit, within moments. */
const tellLimits: ReadonlySet<AgentFamily> = new Set<AgentFamily>(["claude-code", "codex"]);
const belongTogetherMs = 60_000;
const mostUnconfirmed = 4;

const isLimit = (sight: Sight): sight is LimitSight => sight.kind === "rate-limited";

/** Whether a program has an open eye that would tell of a usage limit. */
export const wouldTellLimits = (family: AgentFamily, eyes: readonly EyeState[]): boolean =>
  tellLimits.has(family) && eyes.some(({ eye, sees }) => sees && (eye === "hooks" || eye === "session-file"));

/**
 * A resumed conversation is drawn with the limits it once ran into, and a screen that is drawn anew shows them as if
 * they were new. Where the program itself tells of its limits, a limit on its screen counts only together with that.
 */
export function confirmLimits() {
  let toldAt = Number.NEGATIVE_INFINITY;
  let unconfirmed: readonly { readonly sight: LimitSight; readonly at: number }[] = [];
  return {
    /** The sights on a screen that count now. */
    shown(sights: readonly Sight[], wouldTell: boolean, now: number): readonly Sight[] {
      if (!wouldTell || now - toldAt < belongTogetherMs) return sights;
      const waiting = sights.filter(isLimit).filter(({ what }) => what === "usage");
      unconfirmed = [...unconfirmed, ...waiting.map((sight) => ({ sight, at: now }))].slice(-mostUnconfirmed);
      return sights.filter((sight) => !isLimit(sight) || !waiting.includes(sight));
    },
    /** Takes what the program itself told. Returns what its screen had shown of the same limit just before. */
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
