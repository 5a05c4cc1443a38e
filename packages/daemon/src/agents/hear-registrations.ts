import { type AgentHealth, AgentRegistration, describeIssues, Fault } from "@rouse/contract";
import type { Config } from "../config/read-config.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { SteadyClock } from "../engine/steady-clock.ts";
import { describeAgent } from "./describe-agent.ts";
import type { Agents } from "./host-agents.ts";

interface HearingParts {
  readonly agents: Agents;
  readonly commits: GroupCommit;
  readonly clock: SteadyClock;
  readonly config: () => Config;
}

/** Takes the announcement of an agent, and answers how it does once it is saved. */
export function hearRegistrations({ agents, commits, clock, config }: HearingParts) {
  return async (sent: unknown): Promise<AgentHealth> => {
    const parsed = AgentRegistration.safeParse(sent);
    if (!parsed.success) throw new Fault("bad-request", describeIssues(parsed.error.issues, "registration"));
    const down = commits.down();
    if (down !== null) throw down;
    const moment = clock.read();
    const watched = agents.register(parsed.data, moment);
    await commits.saved();
    return describeAgent(watched.record, moment.now, clock.toWall, config().policyFor(watched.record));
  };
}
