import type { AssignmentStanding, RouseEvent } from "@rouse/contract";

interface Standing {
  readonly standing: AssignmentStanding;
  /** How its last tasks ended, the newest last; true: it failed. */
  readonly failed: readonly boolean[];
  /** Tasks that ended since it gets fewer. */
  readonly endedSince: number;
}

const trusted: Standing = { standing: "normal", failed: [], endedSince: 0 };
/** The numbers in docs/tasks.md. */
const counted = 10;
const enough = 3;
const patience = 5;

/** Reckons anew how many tasks an agent is trusted with, by how its last ones ended, and compares that with what is told. */
export function judgeTrust(highErrorRate: number, violated: (text: string) => void) {
  const agents = new Map<string, Standing>();
  /** Changes that must be told before the turn is over. */
  const expected = new Map<string, AssignmentStanding>();

  const of = (agentId: string): Standing => agents.get(agentId) ?? trusted;
  const isHigh = (failed: readonly boolean[], atLeast: number): boolean =>
    failed.length >= atLeast && failed.filter(Boolean).length / failed.length >= highErrorRate;

  function next({ standing, endedSince }: Standing, failed: readonly boolean[]): Standing {
    const high = isHigh(failed, enough);
    if (standing === "none") return { standing, failed, endedSince };
    if (standing === "normal") return { standing: high ? "few" : "normal", failed, endedSince: 0 };
    if (!high) return { standing: "normal", failed, endedSince: 0 };
    const since = endedSince + 1;
    return { standing: isHigh(failed.slice(-since), patience) ? "none" : "few", failed, endedSince: since };
  }

  function noteTold(agentId: string, told: AssignmentStanding): void {
    if (expected.get(agentId) !== told)
      violated(`${agentId} is told to be trusted with ${told}, and ${of(agentId).standing} is due`);
    expected.delete(agentId);
  }

  return {
    standingOf: (agentId: string): AssignmentStanding => of(agentId).standing,
    /** One of its tasks ended by its own word. */
    ended(agentId: string, isFailure: boolean): void {
      const before = of(agentId);
      const after = next(before, [...before.failed, isFailure].slice(-counted));
      agents.set(agentId, after);
      if (after.standing !== before.standing) expected.set(agentId, after.standing);
    },
    note(event: RouseEvent): void {
      if (event.type === "ASSIGNMENTS_REDUCED") noteTold(event.payload.agentId, "few");
      if (event.type === "ASSIGNMENTS_STOPPED") noteTold(event.payload.agentId, "none");
      if (event.type !== "ASSIGNMENTS_RESTORED") return;
      const { agentId, actor } = event.payload;
      if (actor === "rouse") return noteTold(agentId, "normal");
      if (of(agentId).standing === "normal") violated(`${agentId} is trusted again, and was all the time`);
      agents.set(agentId, trusted);
      expected.delete(agentId);
    },
    /** Everything that was to be told has been. */
    settle(): void {
      for (const [agentId, standing] of expected)
        violated(`${agentId} should be trusted with ${standing}, and nobody was told`);
      expected.clear();
    },
  };
}

export type TrustJudge = ReturnType<typeof judgeTrust>;
