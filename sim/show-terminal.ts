import type { Sight } from "@rouse/contract";
import type { HeldActor, HeldMode } from "./held-actor.ts";
import type { Random } from "./random.ts";

/** Every digest that is to be new is one that was never used before. */
let used = 0;
const fresh = (): string => `n${used++}`;

/** What its terminal, or its stream, shows of an agent since the last look. */
export function showWork(actor: HeldActor, random: Random): Sight[] {
  const { sickness, mode } = actor.life;
  if (sickness !== null) return showSickness(actor);
  if (mode.kind !== "working") return [];
  if (actor.traits.structured) return [...oneStep(fresh(), fresh(), random.chance(0.05)), tokens(actor)];
  const novel = random.whole(1, 12);
  const output: Sight = { kind: "output", rows: novel + random.whole(0, 20), novel };
  return random.chance(0.03) ? [output, { kind: "error", pattern: "error", digest: fresh(), text: "error: …" }] : [output];
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

/** It does something that it has not done before, plainly enough for anybody who watches. */
export const showLife = ({ traits }: HeldActor): Sight[] =>
  traits.structured ? [...oneStep(fresh(), fresh(), false), ...oneStep(fresh(), fresh(), false)] : [{ kind: "output", rows: 12, novel: 9 }];

/** What is seen when it goes from one thing to the next. */
export function showChange(before: HeldMode, after: HeldMode, { traits }: HeldActor, now: number): Sight[] {
  const sights: Sight[] = [];
  if (before.kind === "asking") sights.push({ kind: "asks-no-more" });
  if (before.kind === "tool" && traits.structured)
    sights.push({ kind: "tool-ended", id: before.id, failed: false, resultDigest: fresh() });
  if (before.kind !== "working" && !traits.structured) sights.push({ kind: "output", rows: 5, novel: 3 });
  if (before.kind === "limited" && traits.structured) sights.push({ kind: "said", digest: fresh() });
  if (after.kind === "asking") sights.push({ kind: "asks", what: "permission", pattern: "allow" });
  if (after.kind === "limited")
    sights.push({ kind: "rate-limited", pattern: "limit", resetsInMs: Math.max(0, after.until - now) });
  if (after.kind === "tool" && traits.structured) {
    const { id, timeoutSeconds } = after;
    sights.push({ kind: "tool-started", id, name: "build", argsDigest: fresh(), timeoutSeconds });
  }
  return sights;
}

function oneStep(args: string, result: string, failed: boolean): Sight[] {
  const id = fresh();
  return [
    { kind: "tool-started", id, name: "read_file", argsDigest: args, timeoutSeconds: null },
    { kind: "tool-ended", id, failed, resultDigest: result },
  ];
}

const tokens = (actor: HeldActor): Sight => ({ kind: "tokens", total: actor.life.sequence * 1000 + actor.step * 500 });
