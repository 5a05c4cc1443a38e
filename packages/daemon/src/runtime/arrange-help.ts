import type { OrderAnswer, OrderRequest } from "@rouse/contract";
import type { FleetIncidents } from "@rouse/core";
import type { Config } from "../config/read-config.ts";
import type { Alerts } from "../ports/alerts.ts";
import type { Holders } from "../ports/holders.ts";
import type { Log } from "../ports/log.ts";
import type { Orchestrator } from "../ports/orchestrator.ts";
import type { States } from "../ports/states.ts";
import type { Store } from "../ports/store.ts";
import type { TaskDesk } from "../ports/task-source.ts";
import type { Workspaces } from "../ports/workspaces.ts";
import { askOrchestrator } from "./ask-orchestrator.ts";
import { attendCheckpoints } from "./attend-checkpoints.ts";
import type { GroupCommit } from "./group-commit.ts";
import { keepCheckpoints } from "./keep-checkpoints.ts";
import { keepTasks } from "./keep-tasks.ts";
import type { Given } from "./note-orders.ts";
import { openDesk } from "./open-desk.ts";
import { recheckGate } from "./recheck-gate.ts";
import { recoverTasks } from "./recover-tasks.ts";
import type { Roster } from "./roster.ts";
import type { SelfDoubt } from "./self-doubt.ts";
import { serveTasks } from "./serve-tasks.ts";
import type { SteadyClock } from "./steady-clock.ts";
import { takeWords } from "./take-words.ts";
import { tellEscalations } from "./tell-escalations.ts";
import type { Turns } from "./turns.ts";
import { useHands } from "./use-hands.ts";

interface HelpParts {
  readonly store: Store;
  readonly alerts: Alerts;
  readonly holders: Holders;
  readonly workspaces: Workspaces;
  readonly orchestrator: Orchestrator;
  readonly states: States;
  readonly log: Log;
  readonly roster: Roster;
  readonly incidents: FleetIncidents;
  readonly turns: Turns;
  readonly commits: GroupCommit;
  readonly doubt: SelfDoubt;
  readonly clock: SteadyClock;
  readonly config: () => Config;
  /** A person's word to bring an agent back. */
  readonly recover: (agentId: string, request: Given<OrderRequest>) => Promise<OrderAnswer>;
  readonly onTasksSaved: TaskDesk["onSaved"];
}

/** Everything that is done about agents and their work, put together: who is asked, what is kept, and the hands that do it. */
export function arrangeHelp(parts: HelpParts) {
  const { store, roster, incidents, turns, commits, doubt, clock, config, workspaces, holders } = parts;
  const { toWall, read: readClock } = clock;
  const { saveEvents, intend, addToTrail } = turns;
  const { folderOf } = holders;
  const words = takeWords({ roster, incidents, turns, commits, store, clock, readClock, config });
  const { tellAgent } = words;
  const tasks = keepTasks({ roster, commits, doubt, config, toWall, saveEvents, intend, tellAgent });
  const service = serveTasks({ tasks, roster, commits, doubt, readClock, toWall, addToTrail });
  const checkpoints = keepCheckpoints({
    store,
    states: parts.states,
    commits,
    readClock,
    saveEvents,
    ...attendCheckpoints({ roster, turns, tasks, workspaces, folderOf }),
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
    hands: useHands({
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

export type Help = ReturnType<typeof arrangeHelp>;
