import { type AgentHealth, AgentRegistration, describeIssues, Fault } from "@rouse/contract";
import { type AgentRecord, newRecord, type Reply, type Signal } from "@rouse/core";
import { policySubject } from "../config/choose-policy.ts";
import type { Config } from "../config/read-config.ts";
import type { Engine, Host } from "../engine/engine.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { RecordKeeper } from "../engine/keep-records.ts";
import type { SelfDoubt } from "../engine/self-doubt.ts";
import type { Moment, SteadyClock } from "../engine/steady-clock.ts";
import { describeAgent } from "./describe-agent.ts";
import type { Roster, Watched } from "./roster.ts";

interface EnrollingParts {
  readonly roster: Roster;
  readonly doubt: SelfDoubt;
  readonly records: RecordKeeper;
  readonly engine: Pick<Engine, "saveEvents">;
  readonly tellTasks: (before: AgentRecord, after: AgentRecord) => void;
  readonly submit: Host<Watched, Signal, Reply | null>["submit"];
}

/** What is known of an agent the first time it is heard of. */
interface Newcomer {
  readonly agentType?: string | null | undefined;
  readonly node?: string | undefined;
  readonly taskId?: string | null | undefined;
  readonly incarnation?: number | undefined;
}

/** Agents become known when somebody registers them, when their holder is found, or when they speak themselves. */
export function enrollAgents({ roster, doubt, records, engine, tellTasks, submit }: EnrollingParts) {
  function enroll(agentId: string, of: Newcomer, moment: Moment): Watched {
    const record = newRecord(
      {
        agentId,
        agentType: of.agentType ?? null,
        node: of.node ?? null,
        incarnation: of.incarnation ?? roster.firstLife(agentId),
        taskId: of.taskId ?? null,
        gapsSeen: doubt.lastGap()?.id ?? 0,
      },
      moment.now,
    );
    const watched = roster.add(record);
    const { incarnation } = record.life;
    const { id: taskId } = record.task;
    engine.saveEvents([{ type: "AGENT_REGISTERED", payload: { agentId, incarnation, taskId } }], moment.time, agentId);
    records.saveNow(watched);
    if (taskId !== null) tellTasks({ ...record, task: { ...record.task, id: null } }, record);
    return watched;
  }

  function register(registration: AgentRegistration, moment: Moment): Watched {
    const known = roster.find(registration.agentId);
    if (known === undefined) roster.refuseFormerLife(registration.agentId, registration.incarnation ?? null);
    const watched = known ?? enroll(registration.agentId, registration, moment);
    const reply = submit(watched, { kind: "registered", registration }, moment);
    if (reply?.status === "rejected") {
      const what = reply.because === "held" ? "cannot begin while a holder keeps its process" : "is over";
      throw new Fault(
        "bad-request",
        `incarnation ${registration.incarnation} of ${registration.agentId} ${what}; the current one is ${watched.record.life.incarnation}`,
      );
    }
    records.saveNow(watched);
    return watched;
  }

  return { enroll, register };
}

export type AgentEnroller = ReturnType<typeof enrollAgents>;

interface RegisteringParts {
  readonly engine: Pick<Engine, "begin">;
  readonly agents: Pick<AgentEnroller, "register">;
  readonly commits: GroupCommit;
  readonly clock: SteadyClock;
  readonly config: () => Config;
}

/** Takes a registration from outside. Once it is saved, answers how the agent does. */
export function hearRegistrations({ engine, agents, commits, clock, config }: RegisteringParts) {
  return async (sent: unknown): Promise<AgentHealth> => {
    const parsed = AgentRegistration.safeParse(sent);
    if (!parsed.success) throw new Fault("bad-request", describeIssues(parsed.error.issues, "registration"));
    const moment = engine.begin();
    const watched = agents.register(parsed.data, moment);
    await commits.saved();
    const { record } = watched;
    return describeAgent(record, moment.now, clock.toWall, config().policyFor(policySubject(record)));
  };
}
