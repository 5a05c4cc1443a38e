import { type AgentHealth, AgentRegistration, describeIssues, Fault } from "@rouse/contract";
import { policySubject } from "../config/choose-policy.ts";
import type { Config } from "../config/read-config.ts";
import type { Engine } from "../engine/engine.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { SteadyClock } from "../engine/steady-clock.ts";
import { describeAgent } from "./describe-agent.ts";
import type { Agents } from "./host-agents.ts";

interface HearingParts {
  readonly engine: Pick<Engine, "begin">;
  readonly agents: Agents;
  readonly commits: GroupCommit;
  readonly clock: SteadyClock;
  readonly config: () => Config;
}

/** Takes the announcement of an agent, and answers how it does once it is saved. */
export function hearRegistrations({ engine, agents, commits, clock, config }: HearingParts) {
  return async (sent: unknown): Promise<AgentHealth> => {
    const parsed = AgentRegistration.safeParse(sent);
    if (!parsed.success) throw new Fault("bad-request", describeIssues(parsed.error.issues, "registration"));
    const moment = engine.begin();
    const watched = agents.register(parsed.data, moment);
    await commits.saved();
    return describeAgent(watched.record, moment.now, clock.toWall, config().policyFor(policySubject(watched.record)));
  };
}
