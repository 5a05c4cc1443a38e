import {
  type ContainOutcome,
  type DurationMs,
  describeDuration,
  hours,
  type LetGoReason,
  type MonoMs,
  minutes,
  type Policy,
} from "@rouse/contract";
import { earliest, gravity } from "../assess/look.ts";
import { isLoop } from "../assess/moved-since.ts";
import type { Context } from "../context.ts";
import { type ContainLife, type HandedOver, isHeldBack, isSettled } from "../incident.ts";
import { type AgentRecord, type Finding, isOver, withLadder } from "../record.ts";
import type { Action, Signal } from "../signal.ts";
import { type Intervened, join, raiseAlert, unchanged, withActions, withEvents } from "./alert-life.ts";

/** After so many calls since the hand-over, still in circles, the agent is not just finishing what it did. */
const enoughCalls = 3;
/** How long a pause lasts, and how often it is ordered anew while it is wanted. */
const lasts = hours(1);
const renewEvery = minutes(30);

/**
 * An agent that was handed to a person and goes on in circles spends money until they come. It is held back, as mildly
 * as its policy says, and let go when the matter is over or a person speaks to it. No other agent is ever held back.
 */
export function containAgent(before: AgentRecord, signal: Signal, context: Context): Intervened {
  // Nearly every agent, nearly always.
  const { now, policy, doubt } = context;
  if (before.ladder.handedOver === null && (before.ladder.containment ?? null) === null) return unchanged(before);
  const heard = hearOutcome(before, signal);
  const { record } = heard;
  const because = whyLetGo(record, signal, policy);
  if (because !== null) return join(heard, letGo(record, because, now));
  const loop = doubt.frozen ? null : whatToContain(record, policy);
  const { handedOver } = record.ladder;
  if (loop !== null && handedOver !== null) return join(heard, order(record, handedOver, loop, context));
  return wakeFor(join(heard, renewal(record, context)), now);
}

/** The loop to hold the agent back for. */
function whatToContain(record: AgentRecord, policy: Policy): Finding | null {
  const { handedOver } = record.ladder;
  const { activity } = record.work;
  const { terminal } = record.seen;
  if (handedOver === null || !isWantedBy(policy) || activity.kind !== "RUNNING") return null;
  if (terminal === null || terminal.holder !== "here" || isOver(record)) return null;
  const since = countsFrom(record, handedOver);
  if (since === null || callsSince(record, since) < enoughCalls) return null;
  // An agent in such a loop is ill: no healthy agent has one.
  return record.health.findings.find(({ kind, level }) => isLoop(kind) && gravity[level] >= gravity.stuck) ?? null;
}

const isWantedBy = ({ contain, mode }: Policy): boolean => contain !== "none" && mode !== "observe";

/**
 * From when calls count: the hand-over, or the last release by a person. `null`: this hand-over's attempt was made or
 * refused.
 */
function countsFrom({ ladder: { containment } }: AgentRecord, { incident, at }: HandedOver): MonoMs | null {
  if (containment === null || containment.incident !== incident) return at;
  return containment.state === "let-go" ? containment.at : null;
}

const callsSince = ({ seen: { steps } }: AgentRecord, since: MonoMs): number =>
  steps?.steps.filter(({ at }) => at !== undefined && at > since).length ?? 0;

function order(record: AgentRecord, { incident }: HandedOver, { text }: Finding, { now, policy }: Context): Intervened {
  const how = policy.contain === "interrupt" ? "interrupt" : "pause";
  const former = record.ladder.containment?.incident === incident ? record.ladder.containment : null;
  const number = (former?.number ?? 0) + 1;
  const key = `${incident}/contain/${number}`;
  const life: ContainLife = { key, incident, number, how, state: "ordered", at: now, told: false };
  return withActions(withLadder(record, { containment: life }), actionFor(record, life, wordReason(text)));
}

/** Facts in fixed words: the reader is a model that was just refused a tool. */
const wordReason = (text: string): string =>
  `Rouse, which watches this session, has handed it to a person: ${text}. Tool calls are withheld until a person has looked at it.`;

const actionFor = (
  { agentId, life: { incarnation } }: AgentRecord,
  { key, how, at }: ContainLife,
  reason: string,
): Extract<Action, { kind: "contain-agent" }> => ({
  kind: "contain-agent",
  key,
  agentId,
  incarnation,
  how,
  reason,
  decidedAt: at,
  lasts,
});

function hearOutcome(record: AgentRecord, signal: Signal): Intervened {
  const { containment } = record.ladder;
  if (signal.kind !== "action-outcome" || containment?.state !== "ordered" || signal.key !== containment.key)
    return unchanged(record);
  const { outcome } = signal;
  return typeof outcome === "object" && outcome.kind === "contain"
    ? noteOutcome(record, containment, outcome.outcome)
    : unchanged(record);
}

function noteOutcome(record: AgentRecord, containment: ContainLife, outcome: ContainOutcome): Intervened {
  const { agentId } = record;
  const { handedOver } = record.ladder;
  const { incident, how, told } = containment;
  if (outcome.kind === "not-contained") {
    const refused: ContainLife = { ...containment, state: "refused" };
    const payload = { agentId, incident, how, because: outcome.because };
    return withEvents(withLadder(record, { containment: refused }), { type: "AGENT_NOT_CONTAINED", payload });
  }
  const calls = callsSince(record, handedOver?.at ?? containment.at);
  return withEvents(
    withLadder(record, { containment: { ...containment, state: "on", told: true } }),
    ...(told ? [] : [{ type: "AGENT_CONTAINED" as const, payload: { agentId, incident, how, calls } }]),
  );
}

function whyLetGo(record: AgentRecord, signal: Signal, policy: Policy): LetGoReason | null {
  const { containment, handedOver } = record.ladder;
  if (containment === null) return null;
  if (handedOver?.incident !== containment.incident || isOver(record)) return "no-longer-handed-over";
  if (!isHeldBack(containment)) return null;
  // A person who speaks to the agent wants it to do something.
  if (signal.kind === "nudge-ordered" || signal.kind === "ordered") return "person";
  return isWantedBy(policy) ? null : "policy";
}

/** A turn that was broken off cannot be given back, so there is nothing to undo. */
function letGo(record: AgentRecord, because: LetGoReason, now: MonoMs): Intervened {
  const { agentId } = record;
  const { containment } = record.ladder;
  if (containment === null) return unchanged(record);
  const isOfPast = because === "no-longer-handed-over";
  const { incident, key, how, state } = containment;
  const after: ContainLife | null = isOfPast ? null : { ...containment, state: "let-go", at: now };
  if (!isHeldBack(containment) || (how === "interrupt" && state === "on"))
    return unchanged(isOfPast ? withLadder(record, { containment: null }) : record);
  // An order that nobody has carried out yet is dropped.
  if (how === "interrupt") return unchanged(withLadder(record, { containment: after }));
  const action = {
    ...actionFor(record, { ...containment, key: `${key}/let-go`, at: now }, ""),
    how: "let-go" as const,
  };
  return {
    record: withLadder(record, { containment: after }),
    events: [{ type: "AGENT_LET_GO", payload: { agentId, incident, because } }],
    // An agent that is over has nothing to be given back.
    actions: isOver(record) ? [] : [action],
  };
}

const renewAt = ({ ladder: { containment } }: AgentRecord): MonoMs | null =>
  containment?.state === "on" && containment.how === "pause" ? containment.at + renewEvery : null;

/** A pause that is still wanted is ordered anew before it ends by itself. */
function renewal(record: AgentRecord, { now, doubt }: Context): Intervened {
  const { containment } = record.ladder;
  const due = renewAt(record);
  if (containment === null || due === null || now < due || doubt.frozen) return unchanged(record);
  const number = containment.number + 1;
  const key = `${containment.incident}/contain/${number}`;
  const life: ContainLife = { ...containment, key, number, state: "ordered", at: now };
  const text = record.health.findings.find(({ kind }) => isLoop(kind))?.text ?? "its last calls brought nothing new";
  return withActions(withLadder(record, { containment: life }), actionFor(record, life, wordReason(text)));
}

function wakeFor(at: Intervened, now: MonoMs): Intervened {
  const due = renewAt(at.record);
  if (due === null || due <= now) return at;
  return { ...at, record: { ...at.record, wakeAt: earliest(at.record.wakeAt, due) } };
}

const firstAfter: DurationMs = minutes(5);
const longestBetween: DurationMs = hours(8);
/** Fewer calls and tokens may be the end of what the agent was doing. */
const worthTelling = { calls: 10, tokens: 20_000 };

/** A person has the agent in hand and it goes on spending: they are told how much, each time after twice as long. */
export function tellBurn(record: AgentRecord, now: MonoMs): Intervened {
  const { agentId, health } = record;
  const { handedOver } = record.ladder;
  const { facts } = record.seen;
  const due = burnDueAt(record);
  if (handedOver === null || due === null || now < due) return unchanged(record);
  const { at, burn = nothingBurnt } = handedOver;
  const calls = Math.max(0, (facts.toolCallCount ?? 0) - burn.calls);
  const tokens = Math.max(0, (facts.tokenCount ?? 0) - burn.tokens);
  const told: AgentRecord = withLadder(record, {
    handedOver: { ...handedOver, burn: { ...burn, told: burn.told + 1 } },
  });
  if (calls < worthTelling.calls && tokens < worthTelling.tokens) return unchanged(told);
  const spent = `${calls} calls and ${tokens} tokens in ${describeDuration(now - at)}`;
  const summary = `${agentId} still waits for a person and burns on: ${spent} since they were called (${handedOver.illness})`;
  return raiseAlert(told, { cause: health.reason, severity: "critical" }, summary, now);
}

export function burnDue(record: AgentRecord, now: MonoMs): MonoMs | null {
  const due = burnDueAt(record);
  return due !== null && due > now ? due : null;
}

const nothingBurnt: NonNullable<HandedOver["burn"]> = { calls: 0, tokens: 0, told: 0 };

/** After 5, 15, 35 … minutes; `null` when nobody is to be told. */
function burnDueAt(record: AgentRecord): MonoMs | null {
  const { handedOver } = record.ladder;
  if (handedOver === null || handedOver.burn === undefined || isSettled(handedOver)) return null;
  if (isOver(record) || record.work.activity.kind === "FINISHED") return null;
  let due = handedOver.at;
  for (let n = 0; n <= Math.min(handedOver.burn.told, mostSteps); n++)
    due += Math.min(firstAfter * 2 ** n, longestBetween);
  return due + Math.max(0, handedOver.burn.told - mostSteps) * longestBetween;
}

/** After so many the time in between is the longest. */
const mostSteps = 8;
