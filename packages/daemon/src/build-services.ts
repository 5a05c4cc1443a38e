import type { OrderAnswer, OrderRequest } from "@rouse/contract";
import { carryOutActions, recheckGate } from "./agents/carry-out-action.ts";
import { hostBreakers } from "./breakers/host-breakers.ts";
import { attendCheckpoints } from "./checkpoints/attend-checkpoints.ts";
import { keepCheckpoints } from "./checkpoints/keep-checkpoints.ts";
import { takeOrders } from "./escalations/take-orders.ts";
import { askOrchestrator, tellEscalations } from "./escalations/tell-escalations.ts";
import type { Given } from "./orders/note-orders.ts";
import type { Alerts } from "./ports/alerts.ts";
import type { Holders } from "./ports/holders.ts";
import type { Log } from "./ports/log.ts";
import type { Orchestrator } from "./ports/orchestrator.ts";
import type { States } from "./ports/states.ts";
import type { TaskDesk } from "./ports/task-source.ts";
import type { Workspaces } from "./ports/workspaces.ts";
import { hostRateLimits } from "./rate-limits/host-rate-limits.ts";
import type { SharedServices } from "./shared-services.ts";
import { hostTasks } from "./tasks/host-tasks.ts";
import { recoverTasks } from "./tasks/recover-tasks.ts";
import { openDesk, serveTasks } from "./tasks/serve-tasks.ts";

interface ServiceParts extends Omit<SharedServices, "readClock" | "toWall"> {
  readonly alerts: Alerts;
  readonly holders: Holders;
  readonly workspaces: Workspaces;
  readonly orchestrator: Orchestrator;
  readonly states: States;
  readonly log: Log;
  /** Brings an agent back by a person's order. */
  readonly recover: (agentId: string, request: Given<OrderRequest>) => Promise<OrderAnswer>;
  readonly onTasksSaved: TaskDesk["onSaved"];
}

/** Puts together what acts on agents and their work: orders, escalations, tasks, checkpoints, recovery and the hands. */
export function buildServices(parts: ServiceParts) {
  const { engine, roster, doubt, clock, config, workspaces, holders } = parts;
  const { toWall, read: readClock } = clock;
  const { saveEvents, addToTrail } = engine;
  const { folderOf } = holders;
  const shared = { ...parts, readClock, toWall };
  const orders = takeOrders(shared);
  const tasks = hostTasks(shared);
  const breakers = hostBreakers(shared);
  const service = serveTasks({ ...shared, tasks });
  const checkpoints = keepCheckpoints({ ...shared, saveEvents, ...attendCheckpoints({ ...shared, tasks, folderOf }) });
  const escalations = tellEscalations({ ...shared, orders, checkpoints });
  const recovery = recoverTasks({ ...shared, tasks, checkpoints, addToTrail });
  const { ask, withdraw } = askOrchestrator({
    ...shared,
    notice: escalations.notice,
    decide: orders.decide,
    noteRefusedAnswer(agentId, escalation, because) {
      const payload = { agentId, escalation, because };
      saveEvents([{ type: "ESCALATION_ANSWER_REFUSED", payload }], readClock().time, agentId);
    },
  });
  const { alerts, log } = parts;
  return {
    orders,
    breakers,
    rateLimits: hostRateLimits(shared),
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
      revivalFor: recovery.revivalFor,
      ask,
      withdraw,
      stillOpen: recheckGate({ roster, doubt, config, readClock }),
      stillWanted({ agentId, key }) {
        const containment = roster.find(agentId)?.record.ladder.containment;
        return containment?.key === key && containment.state === "ordered";
      },
      thawed: doubt.thawed,
      toWall,
    }),
  };
}

export type Help = ReturnType<typeof buildServices>;
