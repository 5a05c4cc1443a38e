import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hasty, type Kind, type LadderLife, ladderLife, longestIncident, type Step } from "./ladder-life.test-support.ts";
import { watchOver } from "./ladder-rules.test-support.ts";
import { kinds, steps } from "./random-ladder.test-support.ts";
import type { StoryGiven } from "./story.test-support.ts";

const lives = fc.array(steps, { minLength: 20, maxLength: 80, size: "max" });

function tell(kind: Kind, lived: readonly Step[], given: StoryGiven = {}): LadderLife {
  const life = ladderLife(kind, { witness: watchOver(), ...given });
  for (const one of lived) life.live(one);
  return life;
}

describe("the ladder", () => {
  it("keeps every rule, whatever happens and however often the hands say it", () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(kinds, lives, (kind, lived) => {
        const { agent } = tell(kind, lived);
        for (const word of [...agent.eventTypes(), ...agent.actions.map((a) => a.kind), ...agent.events.flatMap(e => e.type === "INCIDENT_CLOSED" ? ["closed "+e.payload.because] : e.type==="TERMINATION_REFUSED" ? ["refused " + e.payload.because]: e.type==="ESCALATION_TRIGGERED"?["asked "+e.payload.reason]:[])]) seen.set(word, (seen.get(word) ?? 0) + 1);
      }),
      { numRuns: 300 },
    );
    console.log([...seen].sort().map(([k, v]) => `${k}: ${v}`).join("\n"));
  });
});
