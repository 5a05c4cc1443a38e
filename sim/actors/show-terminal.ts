import type { Sight } from "@rouse/contract";
import type { Random } from "../world/random.ts";
import type { HeldActor } from "./held-actor.ts";
import type { HeldMode, QuietMode } from "./held-life.ts";
import { quietKind } from "./quiet-kinds.ts";

/** What terminals and streams show of agents, as their holders would read it. */
export function createTerminals(random: Random) {
  /** The number of digests used so far: a new line gets one that was never used. */
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
      case "request":
      case "tool":
      case undefined:
        return [];
    }
  }

  /** The same lines again, a picture drawn anew, or a new line from time to time on a machine that has no time for anybody. */
  function showQuiet({ as, look }: QuietMode): Sight[] {
    if (look.repeats > 0) return [{ kind: "output", rows: look.repeats, novel: 0 }];
    if (as === "spinner") return [{ kind: "output", rows: 0, novel: 0 }];
    return as === "starved" && random.chance(0.08) ? [{ kind: "output", rows: 2, novel: 1 }] : [];
  }

  /** Tips and footers that come and go while it waits, and now and then everything in another width. */
  function redraw(): Sight[] {
    if (random.chance(0.6)) return [];
    const novel = random.chance(0.1) ? 40 : random.whole(1, 2);
    return [{ kind: "output", rows: novel + 2, novel }];
  }

  /** What is on the screen, or in the stream, from the beginning of it. */
  function openQuiet({ as, id, timeoutSeconds, recognised }: QuietMode): Sight[] {
    const { opens } = quietKind(as);
    if (opens?.what === "tool") return [startTool(id, timeoutSeconds)];
    if (opens?.what === "model") return [{ kind: "model-asked" }];
    return as === "draft" && recognised ? [{ kind: "asks", what: "draft", pattern: "input line" }] : [];
  }

  function closeQuiet({ as, id, recognised }: QuietMode): Sight[] {
    const { opens } = quietKind(as);
    if (opens?.what === "tool") return [{ kind: "tool-ended", id, failed: false, resultDigest: fresh() }];
    if (opens?.what === "model") return [{ kind: "said", digest: fresh() }];
    return as === "draft" && recognised ? [{ kind: "asks-no-more" }] : [];
  }

  const startTool = (id: string, timeoutSeconds: number | null): Sight => ({
    kind: "tool-started",
    id,
    name: "build",
    argsDigest: fresh(),
    timeoutSeconds,
  });

  return {
    /** A call begins from which nothing will come. */
    showHang: (kind: "request" | "tool"): Sight[] =>
      kind === "request" ? [{ kind: "model-asked" }] : [startTool(fresh(), random.whole(60, 900))],

    /** Since the last look. */
    showWork(actor: HeldActor): Sight[] {
      const { sickness, mode } = actor.life;
      if (sickness !== null) return showSickness(actor);
      if (mode.kind === "quiet") return showQuiet(mode);
      if (mode.kind === "limited") return actor.traits.structured ? [] : redraw();
      if (mode.kind !== "working" || actor.traits.mute) return [];
      if (actor.traits.structured)
        return [...oneStep(fresh(), fresh(), random.chance(0.05)), { kind: "tokens", total: actor.spend() }];
      const novel = random.whole(1, 12);
      const output: Sight = { kind: "output", rows: novel + random.whole(0, 20), novel };
      if (!random.chance(0.03)) return [output];
      return [output, { kind: "error", pattern: "error", digest: fresh(), text: "error: something" }];
    },

    /** Output that is plainly new: whoever reads it knows that the agent is well. */
    showLife: ({ traits }: HeldActor): Sight[] =>
      traits.structured
        ? [...oneStep(fresh(), fresh(), false), ...oneStep(fresh(), fresh(), false)]
        : [{ kind: "output", rows: 12, novel: 9 }],

    /** What is seen when it goes from one thing to the next. */
    showChange(before: HeldMode, after: HeldMode, { traits }: HeldActor, now: number): Sight[] {
      const sights: Sight[] = [];
      if (before.kind !== "working" && !traits.structured && !traits.mute)
        sights.push({ kind: "output", rows: 5, novel: 3 });
      if (before.kind === "asking" || (before.kind === "limited" && before.asks === true))
        sights.push({ kind: "asks-no-more" });
      if (before.kind === "tool" && traits.structured)
        sights.push({ kind: "tool-ended", id: before.id, failed: false, resultDigest: fresh() });
      if (before.kind === "limited" && traits.structured) sights.push({ kind: "said", digest: fresh() });
      if (after.kind === "asking") sights.push({ kind: "asks", what: "permission", pattern: "allow" });
      if (after.kind === "limited")
        sights.push({ kind: "rate-limited", pattern: "limit", resetsInMs: Math.max(0, after.until - now) });
      if (after.kind === "tool" && traits.structured) sights.push(startTool(after.id, after.timeoutSeconds));
      if (before.kind === "quiet") sights.push(...closeQuiet(before));
      if (after.kind === "quiet") sights.push(...openQuiet(after));
      return sights;
    },
  };
}

export type Terminals = ReturnType<typeof createTerminals>;
