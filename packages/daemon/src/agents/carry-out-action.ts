import type { ContainOutcome, EpochMs, MonoMs } from "@rouse/contract";
import { type Action, type ActionOutcome, refuseKill, type SavedWork } from "@rouse/core";
import { policySubject } from "../config/choose-policy.ts";
import type { Alerts } from "../ports/alerts.ts";
import type { Holders, Revival } from "../ports/holders.ts";
import type { Log } from "../ports/log.ts";
import type { Workspaces } from "../ports/workspaces.ts";
import type { SharedServices } from "../shared-services.ts";

type Of<K extends Action["kind"]> = Extract<Action, { kind: K }>;

export interface Hands {
  readonly alerts: Alerts;
  readonly holders: Holders;
  readonly workspaces: Workspaces;
  readonly log: Log;
  /** Where an agent runs; `null` when nobody knows. */
  readonly folderOf: (agentId: string) => string | null;
  /** From which checkpoint the next life goes on, and the state to go on with. */
  readonly revivalFor: (action: Of<"restart-agent">) => Promise<Revival>;
  readonly ask: (action: Of<"escalate">) => Promise<ActionOutcome>;
  readonly withdraw: (action: Of<"withdraw-escalation">) => Promise<void>;
  /** Whether the kill gate is still open for a stop of our own. */
  readonly stillOpen: (action: Of<"stop-agent">) => boolean;
  /** Whether an agent is still to be held back by this very order. */
  readonly stillWanted: (action: Of<"contain-agent">) => boolean;
  /** Resolves when no freeze stands. */
  readonly thawed: () => Promise<void>;
  readonly toWall: (at: MonoMs) => EpochMs;
}

/** Does what was decided: delivers alerts, saves work, and has holders stop, nudge and start their agents. */
export function carryOutActions(hands: Hands): (action: Action) => Promise<ActionOutcome> {
  const { alerts, holders, toWall } = hands;
  return async (action) => {
    switch (action.kind) {
      case "raise-alert":
      case "resolve-alert":
        await alerts.deliver(action);
        return "delivered";
      case "save-work":
        return { kind: "work", work: await saveWork(hands, action) };
      case "stop-agent":
        return stop(hands, action);
      case "restart-agent":
        return startAgain(hands, action);
      case "nudge-agent": {
        const { kind: _, notAfter, ...nudge } = action;
        await hands.thawed();
        const delivery = await holders.nudge({ ...nudge, notAfter: toWall(notAfter) });
        return { kind: "nudge", delivery };
      }
      case "withdraw-nudge": {
        // The same nudge with a time in the past is not begun any more, even where the first is still on its way.
        // Taking a nudge back is no intervention, so it does not wait for a freeze to end.
        const { agentId, incarnation, nudge } = action;
        await holders.nudge({ key: nudge, agentId, incarnation, text: "", notAfter: 0 });
        return "delivered";
      }
      case "withdraw-stop": {
        // A holder that this does not reach refuses the stop itself, for being late.
        const { agentId, incarnation, stop: key } = action;
        await holders.withdrawStop({ key, agentId, incarnation });
        return "delivered";
      }
      case "contain-agent":
        return { kind: "contain", outcome: await contain(hands, action) };
      case "escalate":
        return hands.ask(action);
      case "withdraw-escalation":
        await hands.withdraw(action);
        return "delivered";
    }
  };
}

async function saveWork({ workspaces, folderOf }: Hands, action: Of<"save-work">): Promise<SavedWork> {
  const { agentId, incarnation, key, within } = action;
  const folder = folderOf(agentId);
  if (folder === null) return { kind: "not-saved", problem: "nobody knows which folder it works in" };
  const request = { agentId, incarnation, key, folder, reason: "before it is stopped", within };
  const outcome = await workspaces.snapshot(request);
  switch (outcome.kind) {
    case "taken":
      return { kind: "saved", commit: outcome.snapshot.commit, changed: outcome.snapshot.changed };
    case "nothing-to-save":
      return { kind: "nothing-to-save" };
    case "failed":
      return { kind: "not-saved", problem: outcome.problem };
  }
}

/**
 * A stop of our own is not carried out blindly. When saving the order took so long that the gate shut, or when the
 * order could not be carried out, time has passed and the stop is decided anew.
 */
async function stop(hands: Hands, action: Of<"stop-agent">): Promise<ActionOutcome> {
  const { holders, log, stillOpen, thawed, toWall } = hands;
  const { key, agentId, incarnation, grace, spends, notAfter, silentAt } = action;
  if (!spends) await thawed();
  else if (!stillOpen(action)) return { kind: "interrupted" };
  try {
    const moments = {
      ...(notAfter === undefined ? {} : { notAfter: toWall(notAfter) }),
      ...(silentAt === undefined ? {} : { silentAt: toWall(silentAt) }),
    };
    const request = { key, agentId, incarnation, grace, unlessAttached: spends, ...moments };
    return { kind: "stop", stop: await holders.stop(request) };
  } catch (error) {
    if (!spends) throw error;
    log.warn({ agentId, error: String(error) }, "an agent could not be stopped; whether it should be is decided anew");
    return { kind: "interrupted" };
  }
}

/**
 * Letting an agent go is no intervention and waits for nothing. An order to hold it back is checked after the wait: the
 * agent may be well by then.
 */
async function contain(hands: Hands, action: Of<"contain-agent">): Promise<ContainOutcome> {
  const { kind: _, ...request } = action;
  if (action.how === "let-go") return hands.holders.contain(request);
  await hands.thawed();
  if (!hands.stillWanted(action)) return { kind: "not-contained", because: "released" };
  return hands.holders.contain(request);
}

async function startAgain(hands: Hands, action: Of<"restart-agent">): Promise<ActionOutcome> {
  const { agentId, incarnation, afterLimit } = action;
  await hands.thawed();
  const quota = afterLimit ? await hands.holders.quotaOf(agentId, incarnation) : null;
  if (quota?.kind === "used-up") return { kind: "limit-stands", resetsInMs: quota.resetsInMs };
  // Both the question and the reading take a while in which a freeze can begin, and a freeze can change the checkpoint.
  await hands.thawed();
  const revival = action.fresh === true ? null : await hands.revivalFor(action);
  await hands.thawed();
  const done = await hands.holders.startAgain(agentId, incarnation, revival);
  return "problem" in done
    ? { kind: "not-restarted", problem: done.problem }
    : { kind: "restarted", incarnation: done.incarnation, recovery: done.recovery };
}

/**
 * Asks the kill gate once more at the instant of the signal: between the decision and its being on disk anything may
 * have happened, even an outage of hours.
 */
export function recheckGate(parts: Pick<SharedServices, "roster" | "doubt" | "config" | "readClock">) {
  return ({ agentId, key }: Of<"stop-agent">): boolean => {
    const record = parts.roster.find(agentId)?.record;
    if (record?.ending.stop?.key !== key) return false;
    const { now } = parts.readClock();
    const policy = parts.config().policyFor(policySubject(record));
    // The budget has paid for this very stop: that it is empty now speaks against the next stop only.
    const doubt = { ...parts.doubt.about(record, now), brake: null };
    return refuseKill(record, { now, policy, doubt }, record.ending.stop.cause === "decided") === null;
  };
}

interface OutcomeParts extends Pick<SharedServices, "agents" | "commits" | "readClock"> {
  /** Calls back after every commit, until it is told to stop. */
  readonly afterCommits: (look: () => void) => () => void;
}

/**
 * Turns the outcomes of actions into signals. While the store is down no agent can be heard, so an outcome waits until
 * the store is back and its outage is known as a gap: nobody is judged in between.
 */
export function takeOutcomes({ agents, commits, readClock, afterCommits }: OutcomeParts) {
  let waiting: (readonly [Action, ActionOutcome])[] = [];

  function wait(action: Action, outcome: ActionOutcome): void {
    if (waiting.push([action, outcome]) > 1) return;
    const unsubscribe = afterCommits(() => {
      unsubscribe();
      const late = waiting;
      waiting = [];
      for (const [action, outcome] of late) agents.actionDone(action, outcome, readClock());
    });
  }

  return (action: Action, outcome: ActionOutcome): void => {
    if (commits.down() === null) agents.actionDone(action, outcome, readClock());
    else wait(action, outcome);
  };
}
