import type { Sight } from "@rouse/contract";
import type { HeldActor, HeldMode } from "./held-actor.ts";
import type { Random } from "./random.ts";

/** What terminals and streams show of agents, as their holders would read it. */
export function createTerminals(random: Random) {
  /** Every digest that is to be new is one that was never used before. */
  let used = 0;
  const fresh = (): string => `n${used++}`;

  function oneStep(args: string, result: string, failed: boolean): Sight[] {
    const id = fresh();
    return [
      { kind: "tool-started", id, name: "read_file", argsDigest: args, timeoutSeconds: null },
      { kind: "tool-ended", id, failed, resultDigest: result },
    ];
  }

  /** Who is stuck or hangs shows nothing at all; who goes round shows the same again. */
  function showSickness({ life, traits }: HeldActor): Sight[] {
    switch (life.sickness?.kind) {
      case "looping":
        if (traits.structured) return [...oneStep("same", "same", false), ...oneStep("same", "same", false)];
        return [
          { kind: "output", rows: 6, novel: 0 },
          { kind: "error", pattern: "error", digest: "same", text: "error: the same" },
        ];
      case "failing":
        return traits.structured ? [] : [{ kind: "output", rows: 4, novel: 0 }];
      case "stuck":
      case "hung":
      case undefined:
        return [];
    }
  }

  return {
    /** Since the last look. */
    showWork(actor: HeldActor): Sight[] {
      const { sickness, mode } = actor.life;
      if (sickness !== null) return showSickness(actor);
      if (mode.kind !== "working" || actor.traits.mute) return [];
      if (actor.traits.structured)
        return [...oneStep(fresh(), fresh(), random.chance(0.05)), { kind: "tokens", total: actor.spend() }];
      const novel = random.whole(1, 12);
      const output: Sight = { kind: "output", rows: novel + random.whole(0, 20), novel };
      if (!random.chance(0.03)) return [output];
      return [output, { kind: "error", pattern: "error", digest: fresh(), text: "error: something" }];
    },

    /** It does something that it has not done before, plainly enough for anybody who watches. */
    showLife: ({ traits }: HeldActor): Sight[] =>
      traits.structured
        ? [...oneStep(fresh(), fresh(), false), ...oneStep(fresh(), fresh(), false)]
        : [{ kind: "output", rows: 12, novel: 9 }],

    /** What is seen when it goes from one thing to the next. */
    showChange(before: HeldMode, after: HeldMode, { traits }: HeldActor, now: number): Sight[] {
      const sights: Sight[] = [];
      if (before.kind !== "working" && !traits.structured && !traits.mute)
        sights.push({ kind: "output", rows: 5, novel: 3 });
      if (before.kind === "asking") sights.push({ kind: "asks-no-more" });
      if (before.kind === "tool" && traits.structured)
        sights.push({ kind: "tool-ended", id: before.id, failed: false, resultDigest: fresh() });
      if (before.kind === "limited" && traits.structured) sights.push({ kind: "said", digest: fresh() });
      if (after.kind === "asking") sights.push({ kind: "asks", what: "permission", pattern: "allow" });
      if (after.kind === "limited")
        sights.push({ kind: "rate-limited", pattern: "limit", resetsInMs: Math.max(0, after.until - now) });
      if (after.kind === "tool" && traits.structured) {
        const { id, timeoutSeconds } = after;
        sights.push({ kind: "tool-started", id, name: "build", argsDigest: fresh(), timeoutSeconds });
      }
      return sights;
    },
  };
}

export type Terminals = ReturnType<typeof createTerminals>;
