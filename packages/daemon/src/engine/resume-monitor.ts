import { toIso } from "@rouse/contract";
import { type Action, isComingBack, isOver, isStartingAgain } from "@rouse/core";
import type { Watched } from "../agents/roster.ts";
import type { SealedSoFar } from "../audit/seal-trail.ts";
import type { Breakers } from "../breakers/host-breakers.ts";
import { orderLine } from "../orders/note-orders.ts";
import { type BackedOrders, hasOpenOrder, isOrdered } from "../orders/recall-orders.ts";
import { type IntendedAction, type Resumption, storeMark } from "../ports/store.ts";
import type { RateLimits } from "../rate-limits/host-rate-limits.ts";
import type { MonitorServices } from "../shared-services.ts";
import type { Tasks } from "../tasks/host-tasks.ts";
import { haveOtherPolicies, markPolicies } from "./apply-config.ts";
import type { Engine } from "./engine.ts";
import type { Outbox } from "./outbox.ts";
import { restoreAgents } from "./resume.ts";
import type { Frozen } from "./self-doubt.ts";
import type { AliveMark, Moment } from "./steady-clock.ts";

type Resuming = "engine" | "agents" | "roster" | "commits" | "records" | "doubt" | "self" | "holders";

interface ResumingParts extends Pick<MonitorServices, Resuming | "config" | "started" | "version" | "markAlive"> {
  readonly resumption: Resumption;
  readonly seals: Pick<SealedSoFar, "store">;
  readonly orders: BackedOrders;
  /** When the run before was last alive; `null` if there was none. */
  readonly alive: AliveMark | null;
  readonly tasks: Tasks;
  readonly breakers: Pick<Breakers, "restore">;
  readonly rateLimits: Pick<RateLimits, "restore">;
  readonly outbox: Outbox;
}

/**
 * Picks up after the run before: every agent as it was, an amnesty for the time nobody watched, and the actions whose
 * outcome is not known.
 */
export function resumeMonitor(parts: ResumingParts): void {
  const { resumption, alive, started, roster, engine, agents, commits } = parts;
  restoreAgents(resumption, roster, parts.config());
  roster.goOnAfter(resumption.marks);
  for (const watched of roster.all()) if (isOfNobody(watched, parts)) dropOrder(watched, parts);
  parts.tasks.restore(resumption);
  parts.breakers.restore(resumption.machines);
  parts.rateLimits.restore(resumption.machines);
  const frozen = resumption.marks["frozen"];
  if (frozen !== undefined) parts.doubt.freeze(JSON.parse(frozen) as Frozen);
  const isDueAnew = haveOtherPolicies(resumption, parts.config());
  for (const watched of roster.all()) {
    if (isDueAnew) watched.record = { ...watched.record, wakeAt: started.now };
    agents.introduce(watched, started.now);
    parts.engine.file(watched);
  }
  const payload = { version: parts.version, resumed: alive !== null, agents: roster.size() };
  engine.saveEvents([{ type: "MONITOR_STARTED", payload }], started.time, null);
  if (alive !== null) parts.self.noteGap("restart", alive.at, started, `not running since ${toIso(alive.time)}`);
  parts.markAlive();
  markPolicies(commits, parts.config());
  markStore(parts);
  commits.schedule();
  const cancelled = new Set([...roster.all()].map((watched) => keepDown(watched, parts)));
  for (const { key } of resumption.actions) if (cancelled.has(key)) commits.draft().finished.push(key);
  const actions = resumption.actions.filter(({ key }) => !cancelled.has(key));
  parts.outbox.send(actions.filter((saved) => !decideAnew(saved, parts) && !isLeftOver(saved, parts)));
}

/**
 * A person may have kept an agent down while no monitor ran: that is their order to stop it, taken late. Returns the
 * key of the start that this order cancels.
 */
function keepDown(watched: Watched, { holders, alive, started, engine, agents }: ResumingParts): string | null {
  const { record } = watched;
  const { agentId } = record;
  const { incarnation } = record.life;
  const { restart } = record.ending;
  const saidAt = isOver(record) ? holders.keptDownAt(agentId, incarnation) : null;
  // An order older than the last sign of life was heard by the run before.
  if (saidAt === null || alive === null || saidAt < alive.time) return null;
  const isOrderedToStart = isStartingAgain(record);
  if (!isOrderedToStart && !isComingBack(record)) return null;
  const given = { key: `${agentId}/stop/by-hand/${saidAt}`, actor: "operator", force: true };
  const evidence = { key: given.key, incarnation, force: true };
  const reason = "said while no Rouse was running";
  engine.addToTrail(orderLine({ order: "stop", subject: agentId, actor: given.actor, reason, evidence }, started.time));
  if (isOrderedToStart) watched.record = { ...record, ending: { ...record.ending, restart: null } };
  agents.take(watched, { kind: "ordered", order: "stop", ...given }, started);
  return isOrderedToStart ? (restart?.key ?? null) : null;
}

/** The database says that somebody ordered this agent to be stopped, and the audit trail knows of no such order. */
const isOfNobody = ({ record }: Watched, { orders }: ResumingParts): boolean =>
  hasOpenOrder(record) && !orders.has(record.agentId);

function dropOrder(watched: Watched, { engine, records, started }: ResumingParts): void {
  watched.record = { ...watched.record, ending: { ...watched.record.ending, stop: null, refused: "order-of-nobody" } };
  records.saveNow(watched);
  tellOrderOfNobody(watched.record.agentId, engine, started);
}

function tellOrderOfNobody(agentId: string, engine: Engine, { time }: Moment): void {
  const payload = { agentId, because: "order-of-nobody", cause: "ordered" } as const;
  engine.saveEvents([{ type: "TERMINATION_REFUSED", payload }], time, agentId);
  const summary = `an order of nobody was found in the database: to stop ${agentId}. It was dropped; somebody else writes to it`;
  const key = `${agentId}/order-of-nobody/${time}`;
  engine.intend({ kind: "raise-alert", key, agentId, severity: "critical", summary }, time);
}

/** An action for a person's order is dropped unless that order still stands. */
function isLeftOver({ body }: IntendedAction, { roster, engine, commits, started }: ResumingParts): boolean {
  const action = JSON.parse(body) as Action;
  if (!isOrdered(action)) return false;
  const record = roster.find(action.agentId)?.record;
  if (record !== undefined && hasOpenOrder(record) && record.ending.stop?.key === action.key) return false;
  commits.draft().finished.push(action.key);
  // Nobody need be told about a life that is over meanwhile.
  if (record?.life.incarnation === action.incarnation && record.ending.refused !== "order-of-nobody")
    tellOrderOfNobody(action.agentId, engine, started);
  return true;
}

/** Gives the store an id with its first monitor, so that a holder notices another store in its place. */
function markStore({ resumption, commits, seals }: ResumingParts): void {
  commits.draft().marks[storeMark] = resumption.marks[storeMark] ?? seals.store;
}

/**
 * A stop that we intended before a crash, and whose outcome is unknown, was decided on old evidence. It is decided
 * anew, after the amnesty.
 */
function decideAnew({ body }: IntendedAction, { agents, started }: ResumingParts): boolean {
  const action = JSON.parse(body) as Action;
  if (action.kind !== "stop-agent" || !action.spends) return false;
  agents.actionDone(action, { kind: "interrupted" }, started);
  return true;
}
