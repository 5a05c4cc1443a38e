import { type AgentHealth, AgentRegistration, describeIssues, Fault } from "@rouse/contract";
import type { Config } from "../config/read-config.ts";
import { describeAgent } from "./describe-agent.ts";
import type { GroupCommit } from "./group-commit.ts";
import { policySubject } from "./policy-subject.ts";
import type { SteadyClock } from "./steady-clock.ts";
import type { Turns } from "./turns.ts";

interface HearingParts {
  readonly turns: Turns;
  readonly commits: GroupCommit;
  readonly clock: SteadyClock;
  readonly config: () => Config;
}

/** Takes the announcement of an agent, and answers how it does once it is saved. */
export function hearRegistrations({ turns, commits, clock, config }: HearingParts) {
  return async (sent: unknown): Promise<AgentHealth> => {
    const parsed = AgentRegistration.safeParse(sent);
    if (!parsed.success) throw new Fault("bad-request", describeIssues(parsed.error.issues, "registration"));
    const down = commits.down();
    if (down !== null) throw down;
    const moment = clock.read();
    const watched = turns.register(parsed.data, moment);
    await commits.saved();
    return describeAgent(watched.record, moment.now, clock.toWall, config().policyFor(policySubject(watched.record)));
  };
}
