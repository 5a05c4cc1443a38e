import { type AgentRegistration, Fault } from "@rouse/contract";
import { type AgentRecord, newRecord, type Reply, type Signal } from "@rouse/core";
import type { Engine, Host } from "../engine/engine.ts";
import type { RecordKeeper } from "../engine/keep-records.ts";
import type { SelfDoubt } from "../engine/self-doubt.ts";
import type { Moment } from "../engine/steady-clock.ts";
import type { Roster, Watched } from "./roster.ts";

interface EnrollingParts {
  readonly roster: Roster;
  readonly doubt: SelfDoubt;
  readonly records: RecordKeeper;
  readonly engine: Pick<Engine, "saveEvents">;
  readonly tellTasks: (before: AgentRecord, after: AgentRecord) => void;
  readonly submit: Host<Watched, Signal, Reply | null>["submit"];
}

/** What an agent tells of itself the first time it is heard of. */
interface Newcomer {
  readonly agentType?: string | null | undefined;
  readonly node?: string | undefined;
  readonly taskId?: string | null | undefined;
  readonly incarnation?: number | undefined;
}

/** How agents become known: announced by somebody, found with a holder, or by speaking themselves. */
export function enrollAgents({ roster, doubt, records, engine, tellTasks, submit }: EnrollingParts) {
  function enroll(agentId: string, of: Newcomer, moment: Moment): Watched {
    const record = newRecord(
      {
        agentId,
        agentType: of.agentType ?? null,
        node: of.node ?? null,
        incarnation: of.incarnation ?? 1,
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
