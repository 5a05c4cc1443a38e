import { describe, expect, it } from "vitest";
import { type HeldStory, heldStory } from "../held-story.test-support.ts";

/** The agent tells its progress, then nothing new, and beats on. */
function fallsQuiet(processes: "busy" | "quiet", minutes: number): HeldStory {
  const held = heldStory({ processes, settings: { terminal: { idle_timeout_minutes: 600 } } });
  held.agent.beats({ ...says, progressIndicator: "step 1" });
  held.passes("1m");
  held.agent.beats({ ...says, progressIndicator: "step 2" });
  held.prints();
  beatsOn(held, minutes);
  return held;
}

const says = { lastCheckpoint: "c1", tokenCount: 10, toolCallCount: 3 };

function beatsOn(held: HeldStory, minutes: number): void {
  for (let i = 0; i < minutes; i++) {
    held.passes("1m");
    held.agent.beats({ ...says, progressIndicator: "step 2" });
  }
}

const kindsOf = ({ agent }: HeldStory, level: string): string[] =>
  agent.record.health.findings.filter((finding) => finding.level === level).map(({ kind }) => kind);

describe("an agent that shows nothing new while its processes are at work", () => {
  const kinds = ["stale-checkpoint", "no-progress", "no-tool-call", "zero-tokens"];

  it("runs something long: whatever it does not tell is a warning", () => {
    const held = fallsQuiet("busy", 80);
    expect(kindsOf(held, "stuck")).toEqual([]);
    expect(kindsOf(held, "degraded")).toEqual(expect.arrayContaining(kinds));
    for (const kind of kinds)
      expect(held.agent.record.health.findings.find((finding) => finding.kind === kind)?.text).toContain(
        "processes are at work",
      );
    expect(held.agent.state).toBe("DEGRADED");
    expect(held.agent.told("NUDGE_QUEUED")).toEqual([]);
  });

  it("is STUCK when it has gone on for longer than children may be waited for", () => {
    const held = fallsQuiet("busy", 95);
    expect(held.agent.past).toContain(`${60 + 90 * 60}s STUCK`);
  });

  it("is STUCK two minutes after they came to rest", () => {
    const held = fallsQuiet("busy", 40);
    expect(held.agent.state).toBe("DEGRADED");
    held.processesAre("quiet");
    held.passes("3m");
    expect(held.agent.state).toBe("STUCK");
    expect(kindsOf(held, "stuck")).toEqual(expect.arrayContaining(kinds));
  });

  it("is given the same while nobody can look at them any more, for as long and no longer", () => {
    const held = fallsQuiet("busy", 25);
    held.processesAre("unknown");
    beatsOn(held, 10);
    expect(held.agent.state).toBe("DEGRADED");
    expect(held.agent.finding("stale-checkpoint")?.text).toContain("were at work when last seen");
    beatsOn(held, 60);
    expect(held.agent.state).toBe("STUCK");
  });

  it("and that were quiet when last seen, it is not", () => {
    const held = fallsQuiet("quiet", 25);
    held.processesAre("unknown");
    held.passes("10m");
    expect(held.agent.state).toBe("STUCK");
  });

  it("is judged by what its holder saw then, although it is told only now", () => {
    const held = heldStory();
    held.prints();
    held.passes("16m");
    expect(held.agent.state).toBe("STUCK");
    held.agent.silentFor("12m");
    held.report([], {}, 10 * 60_000);
    expect(held.agent.finding("no-output")).toMatchObject({ level: "stuck", evidence: { busy: "no" } });
    expect(held.agent.past).toEqual(["900s STUCK"]);
  });

  it("and with quiet processes is STUCK as soon as each of them says so", () => {
    expect(kindsOf(fallsQuiet("quiet", 35), "stuck")).toEqual(expect.arrayContaining(kinds));
  });
});
