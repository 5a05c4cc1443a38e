import { Fault, type RemovalRefusal, type RemovedAgent, type RemoveRequest, type RouseEvent } from "@rouse/contract";
import { describeStanding, type FleetWatch, howOver, refuseRemoval } from "@rouse/core";
import { describeOver } from "../agents/describe-agent.ts";
import type { Watched } from "../agents/roster.ts";
import type { Breakers } from "../breakers/host-breakers.ts";
import { policySubject } from "../config/choose-policy.ts";
import type { RecordKeeper } from "../engine/keep-records.ts";
import type { Moment } from "../engine/steady-clock.ts";
import type { Holders } from "../ports/holders.ts";
import type { SharedServices } from "../shared-services.ts";
import type { Tasks } from "../tasks/host-tasks.ts";
import { type Given, type GivenOrder, orderLine, refusalLine } from "./note-orders.ts";

interface RemovingParts
  extends Pick<SharedServices, "roster" | "engine" | "agents" | "commits" | "incidents" | "clock" | "config"> {
  readonly records: RecordKeeper;
  readonly fleet: FleetWatch;
  readonly holders: Holders;
  readonly tasks: Pick<Tasks, "heldBy" | "forgetAgent">;
  readonly breakers: Pick<Breakers, "forgetAgent">;
}

const refusals: Readonly<Record<RemovalRefusal, (agentId: string) => string>> = {
  runs: (id) => `${id} is running; \`rouse terminate ${id}\` ends it first`,
  beats: (id) =>
    `${id} sends heartbeats by itself; it can be removed when it says that it is FINISHED, or falls silent`,
  "left-processes": (id) => `${id} left processes at work; \`rouse terminate ${id}\` ends them first`,
  "starts-again": (id) => `${id} is to be started again; \`rouse terminate ${id}\` ends it first`,
  "question-open": (id) => `somebody was asked what to do about ${id}; \`rouse escalations\` shows it`,
  "holds-task": (id) => `${id} has a task on its hook; \`rouse tasks reassign\` gives it to somebody else first`,
  held: (id) => `the holder of ${id} is still there; try again in a moment`,
};

/** Removes an agent that is over: first an audit line, then the files of its holder, then what the store keeps. */
export function removeAgents(parts: RemovingParts) {
  const { roster, records, engine, agents, commits, fleet, incidents, holders, tasks, breakers, clock, config } = parts;

  const refusalOf = ({ record }: Watched): RemovalRefusal | null =>
    refuseRemoval(record, config().policyFor(policySubject(record))) ??
    (isAskedAboutWithOthers(record.agentId) ? "question-open" : null) ??
    (tasks.heldBy(record.agentId).length > 0 ? "holds-task" : null);

  const isAskedAboutWithOthers = (agentId: string): boolean =>
    incidents.open().some(({ stage, members }) => stage.kind === "asked" && members.includes(agentId));

  async function refuse(order: GivenOrder, because: RemovalRefusal): Promise<never> {
    engine.addToTrail(refusalLine(order, because, clock.read().time));
    await commits.saved();
    throw new Fault("order-refused", refusals[because](order.subject), { retryable: because === "held" });
  }

  /** Every part that writes or counts the agent lets go of it in one turn of the event loop. */
  function takeOut(watched: Watched, { actor, reason }: GivenOrder, moment: Moment): void {
    const { now, time } = moment;
    const { record } = watched;
    const {
      agentId,
      life: { incarnation },
      health: { alert },
    } = record;
    const events: RouseEvent[] = [{ type: "AGENT_REMOVED", payload: { agentId, incarnation, actor, reason } }];
    if (alert !== null) {
      events.push({ type: "ALERT_RESOLVED", payload: { agentId, alert: alert.key } });
      engine.intend({ kind: "resolve-alert", key: `${alert.key}/resolved`, agentId }, time);
    }
    engine.saveEvents(events, time, agentId);
    tasks.forgetAgent(agentId, moment);
    breakers.forgetAgent(agentId);
    const standing = describeStanding(record, config().policyFor(policySubject(record)));
    agents.takeNews(fleet.note({ ...standing, watched: false }, now), moment);
    agents.takeFleet(incidents.forget(agentId, now), moment);
    Object.assign(commits.draft().marks, roster.remove(watched));
    records.remove(watched);
  }

  return async (agentId: string, { actor, as, reason }: Given<RemoveRequest>): Promise<RemovedAgent> => {
    commits.refuseWhileDown();
    const watched = roster.mustFind(agentId);
    const { incarnation } = watched.record.life;
    const order: GivenOrder = { order: "remove", subject: agentId, actor, as, reason, evidence: { incarnation } };
    engine.addToTrail(orderLine(order, clock.read().time));
    const refused = refusalOf(watched);
    if (refused !== null) return refuse(order, refused);
    await commits.saved();
    if (!(await holders.forget(agentId))) return refuse(order, "held");
    // A person may have started or removed it while we waited for its holder.
    const changed = refusalOf(watched);
    if (changed !== null) return refuse(order, changed);
    const over = howOver(watched.record, config().policyFor(policySubject(watched.record)));
    if (roster.find(agentId) === watched) takeOut(watched, order, clock.read());
    await commits.saved();
    return { agentId, incarnation, over: describeOver(over, clock.toWall) };
  };
}
