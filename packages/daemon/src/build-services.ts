import type { OrderAnswer, OrderRequest } from "@rouse/contract";
import type { FleetIncidents } from "@rouse/core";
import { carryOutActions } from "./agents/carry-out-action.ts";
import type { Agents } from "./agents/host-agents.ts";
import { recheckGate } from "./agents/recheck-gate.ts";
import type { Roster } from "./agents/roster.ts";
import { attendCheckpoints } from "./checkpoints/attend-checkpoints.ts";
import { keepCheckpoints } from "./checkpoints/keep-checkpoints.ts";
import type { Config } from "./config/read-config.ts";
import type { Engine } from "./engine/engine.ts";
import type { GroupCommit } from "./engine/group-commit.ts";
import type { SelfDoubt } from "./engine/self-doubt.ts";
import type { SteadyClock } from "./engine/steady-clock.ts";
import { takeWords } from "./escalations/take-words.ts";
import { askOrchestrator, tellEscalations } from "./escalations/tell-escalations.ts";
import type { Given } from "./orders/note-orders.ts";
import type { Alerts } from "./ports/alerts.ts";
import type { Holders } from "./ports/holders.ts";
import type { Log } from "./ports/log.ts";
import type { Orchestrator } from "./ports/orchestrator.ts";
import type { States } from "./ports/states.ts";
import type { Store } from "./ports/store.ts";
import type { TaskDesk } from "./ports/task-source.ts";
import type { Workspaces } from "./ports/workspaces.ts";
import { hostTasks } from "./tasks/host-tasks.ts";
import { recoverTasks } from "./tasks/recover-tasks.ts";
import { openDesk, serveTasks } from "./tasks/serve-tasks.ts";

interface ServiceParts {
  readonly store: Store;
  readonly alerts: Alerts;
  readonly holders: Holders;
  readonly workspaces: Workspaces;
  readonly orchestrator: Orchestrator;
  readonly states: States;
  readonly log: Log;
  readonly roster: Roster;
  readonly incidents: FleetIncidents;
  readonly engine: Engine;
  readonly agents: Agents;
  readonly commits: GroupCommit;
  readonly doubt: SelfDoubt;
  readonly clock: SteadyClock;
  readonly config: () => Config;
  /** A person's word to bring an agent back. */
  readonly recover: (agentId: string, request: Given<OrderRequest>) => Promise<OrderAnswer>;
  readonly onTasksSaved: TaskDesk["onSaved"];
}

/** Everything that is done about agents and their work, put together: who is asked, what is kept, and the hands that do it. */
export function buildServices(parts: ServiceParts) {
  const { store, engine, roster, incidents, agents, commits, doubt, clock, config, workspaces, holders } = parts;
  const { toWall, read: readClock } = clock;
  const { saveEvents, addToTrail } = engine;
  const { folderOf } = holders;
  const words = takeWords({ engine, roster, incidents, agents, commits, store, clock, readClock, config });
  const tasks = hostTasks({ engine, roster, commits, doubt, config, toWall });
  const service = serveTasks({ engine, tasks, roster, commits, doubt, readClock, toWall });
  const checkpoints = keepCheckpoints({
    store,
    states: parts.states,
    commits,
    readClock,
    saveEvents,
    ...attendCheckpoints({ roster, agents, tasks, workspaces, folderOf }),
  });
  const escalations = tellEscalations({ words, store, checkpoints, config, readClock, toWall });
  const keepers = { roster, tasks, checkpoints, commits };
  const recovery = recoverTasks({ ...keepers, config, readClock, toWall, recover: parts.recover, addToTrail });
  const { ask, withdraw } = askOrchestrator({
    orchestrator: parts.orchestrator,
    notice: escalations.notice,
    decide: words.decide,
    noteRefusedAnswer(agentId, escalation, because) {
      const payload = { agentId, escalation, because };
      saveEvents([{ type: "ESCALATION_ANSWER_REFUSED", payload }], readClock().time, agentId);
    },
    toWall,
  });
  const { alerts, log } = parts;
  const { revivalFor } = recovery;
  const { thawed } = doubt;
  const stillOpen = recheckGate({ roster, doubt, config, readClock });
  return {
    words,
    escalations,
    tasks,
    service,
    desk: openDesk(tasks, service, parts.onTasksSaved),
    checkpoints,
    recovery,
    hands: carryOutActions({
      alerts,
      holders,
      workspaces,
      log,
      folderOf,
      revivalFor,
      ask,
      withdraw,
      stillOpen,
      stillWanted({ agentId, key }) {
        const containment = roster.find(agentId)?.record.ladder.containment;
        return containment?.key === key && containment.state === "ordered";
      },
      thawed,
      toWall,
    }),
  };
}

export type Help = ReturnType<typeof buildServices>;
