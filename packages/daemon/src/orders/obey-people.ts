import { randomUUID } from "node:crypto";
import { detailsOf, Fault, type OrderAnswer, type OrderRequest, type StopRefusal } from "@rouse/contract";
import { type AgentRecord, isStartingAgain } from "@rouse/core";
import type { Watched } from "../agents/roster.ts";
import type { Frozen } from "../engine/self-doubt.ts";
import type { SharedServices } from "../shared-services.ts";
import type { Tasks } from "../tasks/host-tasks.ts";
import { type Given, type GivenOrder, orderLine, refusalLine } from "./note-orders.ts";

interface ObeyingParts extends Pick<SharedServices, "roster" | "engine" | "agents" | "commits" | "readClock"> {
  /** Calls back after every commit, until it is told to stop. */
  readonly afterCommits: (look: () => void) => () => void;
  readonly after: (delay: number, call: () => void) => () => void;
}

/** How long a person waits for an answer; the order itself goes on. */
const patience = 60_000;

const refusals: Readonly<Partial<Record<StopRefusal, string>>> = {
  frozen: "all interventions are frozen; `rouse thaw` first",
  "work-not-saved": "its working tree could not be saved; look at `rouse why`, or add --force to stop it all the same",
};

/**
 * Stops or restarts an agent by a person's order. The order is recorded, carried out, and answered with its outcome.
 */
export function obeyPeople({ roster, engine, agents, commits, readClock, afterCommits, after }: ObeyingParts) {
  async function order(
    what: "stop" | "restart",
    agentId: string,
    { actor, as, reason, force }: Given<OrderRequest>,
  ): Promise<OrderAnswer> {
    commits.refuseWhileDown();
    const watched = roster.mustFind(agentId);
    if (watched.record.seen.terminal === null)
      throw await refuseUnheld({ order: what, subject: agentId, actor, as, reason, evidence: { force } });
    // An agent that is being started again is stopped in its next life, not in the one that has ended.
    if (what === "stop") await until(() => !isStartingAgain(watched.record));
    const moment = readClock();
    const key = `${agentId}/${what}/${randomUUID()}`;
    const before = watched.record;
    const { incarnation } = before.life;
    const evidence = { key, incarnation, force };
    engine.addToTrail(orderLine({ order: what, subject: agentId, actor, as, reason, evidence }, moment.time));
    agents.take(watched, { kind: "ordered", order: what, key, actor, force }, moment);
    await commits.saved();
    if (what === "stop" && isCancelled(watched.record, before)) return { agentId, outcome: "restart-cancelled" };
    const refused = refusalOf(watched.record, before, key);
    if (refused === "already-over") return { agentId, outcome: "already-over" };
    if (refused !== null) throw refusal(refused);
    return untilAnswered(watched, before, what, key);
  }

  async function refuseUnheld(order: GivenOrder): Promise<Fault> {
    const { time } = readClock();
    engine.addToTrail(orderLine(order, time));
    engine.addToTrail(refusalLine(order, "not-supervised", time));
    await commits.saved();
    return new Fault(
      "not-supervised",
      `${order.subject} was not started by \`rouse run\` or \`rouse spawn\`, so Rouse cannot stop or start it`,
    );
  }

  async function untilAnswered(
    watched: Watched,
    before: AgentRecord,
    what: "stop" | "restart",
    key: string,
  ): Promise<OrderAnswer> {
    const answer = () => answerOf(watched.record, before, what, key);
    const refused = () => refusalOf(watched.record, before, key);
    await until(() => answer() !== null || refused() !== null);
    const because = refused();
    if (because !== null && answer() === null) throw refusal(because);
    return answer() ?? { agentId: before.agentId, outcome: "under-way" };
  }

  /** Looks after every commit, for as long as a person waits. */
  function until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const finish = (): void => {
        unsubscribe();
        cancel();
        resolve();
      };
      const look = (): void => {
        if (isSo()) finish();
      };
      const unsubscribe = afterCommits(look);
      const cancel = after(patience, finish);
      look();
    });
  }

  return {
    terminate: (agentId: string, request: Given<OrderRequest>) => order("stop", agentId, request),
    recover: (agentId: string, request: Given<OrderRequest>) => order("restart", agentId, request),
  };
}

/** The order came between two lives, and there is no next one. */
const isCancelled = ({ ladder: { handedOver }, seen: { terminal } }: AgentRecord, before: AgentRecord): boolean =>
  terminal?.exit != null && handedOver !== before.ladder.handedOver && handedOver?.because === "ended-by-person";

const refusal = (because: StopRefusal): Fault => new Fault("order-refused", refusals[because] ?? `refused: ${because}`);

/** Why the order led to nothing; `null` while it is under way. */
function refusalOf(record: AgentRecord, before: AgentRecord, key: string): StopRefusal | null {
  const isUnderWay =
    isTheirs(record, before, key) ||
    record.ending.restart !== before.ending.restart ||
    record.life.incarnation !== before.life.incarnation;
  return isUnderWay ? null : record.ending.refused;
}

/** The stop that was ordered, or one that was under way when the order came and counts as ordered since. */
const isTheirs = ({ ending: { stop } }: AgentRecord, before: AgentRecord, key: string): boolean =>
  stop !== null &&
  (stop.key === key ||
    (stop.cause === "ordered" && before.ending.stop?.outcome === null && goesBackTo(stop.key, before.ending.stop.key)));

/** A stop that is issued again has a key made from the first. */
const goesBackTo = (key: string, first: string): boolean => key === first || key.startsWith(`${first}/again`);

/** The outcome of an order, by the agent's record. `null`: none yet. */
function answerOf(record: AgentRecord, before: AgentRecord, what: "stop" | "restart", key: string): OrderAnswer | null {
  const { agentId, life, ending } = record;
  if (life.incarnation > before.life.incarnation)
    return { agentId, outcome: "restarted", incarnation: life.incarnation };
  const stop = ending.stop !== null && isTheirs(record, before, key) ? ending.stop.outcome : null;
  if (stop?.kind === "termination_incomplete")
    return { agentId, outcome: "termination_incomplete", survivors: [...stop.survivors] };
  if (stop?.kind === "refused") return { agentId, outcome: "refused", because: stop.because };
  const problem = ending.restart === before.ending.restart ? null : (ending.restart?.problem ?? null);
  if (problem !== null) return { agentId, outcome: "not-restarted", problem };
  if (what === "restart" || stop === null) return null;
  if (stop.kind !== "stopped") return { agentId, outcome: "already-over", ...detailsOf({ spared: stop.spared }) };
  const { forced, tier } = stop;
  return { agentId, outcome: "stopped", forced, ...(tier && { tier }), ...detailsOf(stop) };
}

interface FreezingParts extends Pick<SharedServices, "engine" | "agents" | "commits" | "doubt" | "readClock"> {
  readonly tasks: Tasks;
}

/** A person's order that nothing is done to any agent, and the end of it. It outlives the monitor. */
export function freezeAndThaw({ engine, agents, commits, doubt, tasks, readClock }: FreezingParts) {
  async function setFrozen(frozen: boolean, actor: string, reason: string, as?: string): Promise<void> {
    const moment = engine.begin();
    const order = { actor, reason, ...(as === undefined ? {} : { as }) };
    const by: Frozen | null = frozen ? { since: moment.now, ...order } : null;
    commits.draft().marks["frozen"] = by === null ? null : JSON.stringify(by);
    const type = frozen ? "MONITOR_FROZEN" : "MONITOR_THAWED";
    engine.saveEvents([{ type, payload: order }], moment.time, null);
    await commits.saved();
    doubt.freeze(by);
    if (!frozen) wakeAll();
  }

  /** Looks again at what the freeze put off. */
  function wakeAll(): void {
    const moment = readClock();
    agents.wakeAll(moment, ({ seen, ladder }) => seen.terminal !== null || ladder.incident !== null);
    tasks.wakeAll(moment);
    engine.deliver(moment);
    commits.schedule();
  }

  return {
    freeze: (actor: string, reason: string, as?: string) => setFrozen(true, actor, reason, as),
    thaw: (actor: string, reason: string, as?: string) => setFrozen(false, actor, reason, as),
  };
}
