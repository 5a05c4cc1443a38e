import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Kind, type LadderLife, ladderLife, longestIncident, type Step } from "./ladder-life.test-support.ts";
import { watchOver } from "./ladder-rules.test-support.ts";
import { kinds, steps } from "./random-ladder.test-support.ts";
import type { AgentRecord } from "./record.ts";
import type { Story, StoryGiven, Witnessed } from "./story.test-support.ts";

const lives = fc.array(steps, { minLength: 10, maxLength: 70, size: "max" });

function tell(kind: Kind, lived: readonly Step[], given: StoryGiven = {}): LadderLife {
  const life = ladderLife(kind, given);
  for (const one of lived) life.live(one);
  return life;
}

/** What happened, in words. */
const wordsOf = ({ events }: Story): string[] =>
  events.map((event) => {
    if (event.type === "INCIDENT_CLOSED") return `closed: ${event.payload.because}`;
    if (event.type === "TERMINATION_REFUSED") return `refused: ${event.payload.because}`;
    return event.type === "ESCALATION_TRIGGERED" ? `asked: ${event.payload.reason}` : event.type;
  });

/** Without these the random lives would not test much. */
const eventful = [
  "NUDGE_ACTED",
  "NUDGE_UNCONFIRMED",
  "asked: nudges-unanswered",
  "ESCALATION_DECIDED",
  "ESCALATION_UNANSWERED",
  "ESCALATION_UNACKNOWLEDGED",
  "refused: one-kind-of-evidence",
  "refused: attached",
  "TERMINATION_ORDERED",
  "AGENT_TERMINATED",
  "AGENT_RESTARTED",
  "RESTART_FAILED",
  "asked: restarts-exhausted",
  "closed: handed-off",
  "closed: ended-by-person",
  "closed: stood-probation",
  "closed: well-again",
];

describe("the ladder", () => {
  it("keeps every rule, whatever happens and however often the hands say it", () => {
    const seen = new Set<string>();
    const property = fc.property(kinds, lives, (kind, lived) => {
      const { agent } = tell(kind, lived, { witness: watchOver() });
      for (const word of wordsOf(agent)) seen.add(word);
      expect(JSON.parse(JSON.stringify(agent.record)) as AgentRecord).toEqual(agent.record);
    });
    fc.assert(property, { numRuns: 250 });
    // Some things rarely happen by chance.
    for (let batch = 0; batch < 20 && !eventful.every((word) => seen.has(word)); batch++)
      fc.assert(property, { numRuns: 100 });
    for (const word of eventful) expect(seen).toContain(word);
  });

  it("looked at only when the record asks for it, does all that it does when looked at every ten seconds as well", () => {
    fc.assert(
      fc.property(kinds, lives, (kind, lived) => {
        const woken = tell(kind, lived).agent;
        const watched = tell(kind, lived, { alsoEvery: 10_000 }).agent;
        expect(woken.verdicts).toEqual(watched.verdicts);
        expect(wordsOf(woken)).toEqual(wordsOf(watched));
        expect(woken.actions.map(({ key }) => key)).toEqual(watched.actions.map(({ key }) => key));
      }),
      { numRuns: 60 },
    );
  });

  it("ends every incident once everybody does their part though nobody answers, or goes on asking about who is only quiet", () => {
    fc.assert(
      fc.property(kinds, lives, (kind, lived) => {
        let calmFrom = Number.POSITIVE_INFINITY;
        const witness = ({ turn: { record }, now }: Witnessed): void => {
          const { stage, openedAt = now } = record.ladder.incident ?? {};
          if (stage?.kind === "escalated" && stage.escalation.otherwise.kind === "keep") return;
          const from = Math.max(calmFrom, openedAt);
          if (now - from > longestIncident)
            throw new Error(`${record.ladder.incident?.stage.kind} for ${now - from} ms`);
        };
        const { agent, held, calmsDown } = tell(kind, lived, { witness });
        calmsDown();
        calmFrom = agent.now;
        if (held === null) agent.silentFor("1h");
        else held.passes("1h");
      }),
      { numRuns: 60 },
    );
  });
});
