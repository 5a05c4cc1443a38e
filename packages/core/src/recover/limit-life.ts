import type { MonoMs, Policy, RouseEvent } from "@rouse/contract";
import { limitResumed } from "../accept/read-limit.ts";
import { turnClock } from "../accept/work-clock.ts";
import { chooseChannel } from "../decide/choose-channel.ts";
import type { Doubt } from "../doubt.ts";
import type { Intervened } from "../intervene/alert-life.ts";
import { queueNudge } from "../intervene/nudge-life.ts";
import { limitOverWording } from "../intervene/word-nudge.ts";
import { endedAtLimit, goesOnUntil, heldByLimit, isStanding, type Limit, mostResumes } from "../limit.ts";
import { type AgentRecord, isOver, isStartingAgain } from "../record.ts";
import { reviveAfterLimit } from "./restart-life.ts";

/** What follows when a limit is over: started again where the process ended, told or asked about where it stands at its prompt, else nothing. */
export function followLimit(record: AgentRecord, now: MonoMs, policy: Policy, doubt: Doubt): Intervened {
  const { limit } = record;
  if (limit === null || limit.told || record.activity.kind === "FINISHED") return unchanged(record);
  if (isOver(record)) return now < (heldByLimit(record) ?? now) ? unchanged(record) : startAgain(record, now, policy, doubt);
  if (isUnheard(record, limit)) return tellPerson(record, limit, now, policy);
  const due = goesOnUntil(record);
  return due === null || now < due ? unchanged(record) : resume(record, limit, now, policy, doubt);
}

const unchanged = (record: AgentRecord): Intervened => ({ record, events: [], actions: [] });

/** When a limit that stands is to be looked at. */
export function limitDue(record: AgentRecord, now: MonoMs): MonoMs | null {
  const due = record.limit?.told === true ? null : isOver(record) ? heldByLimit(record) : goesOnUntil(record);
  return due !== null && due > now ? due : null;
}

function startAgain(record: AgentRecord, now: MonoMs, policy: Policy, doubt: Doubt): Intervened {
  const { limit } = record;
  if (!isStanding(limit) || !endedAtLimit(record) || doubt.frozen || isStartingAgain(record)) return unchanged(record);
  if (policy.mode !== "act" || policy.limitResume.afterExit !== "auto") return unchanged(record);
  return andTell(reviveAfterLimit(record, limit, now), limitResumed(record.agentId, limit, "started-again", now));
}

const andTell = (done: Intervened, event: RouseEvent): Intervened => ({ ...done, events: [event, ...done.events] });

function resume(record: AgentRecord, limit: Limit, now: MonoMs, policy: Policy, doubt: Doubt): Intervened {
  const { inTerminal } = policy.limitResume;
  if (!standsStill(record, limit) || inTerminal === "off")
    return andTell(over(record, limit, now), limitResumed(record.agentId, limit, "time-up", now));
  const mayNudge = inTerminal === "auto" && policy.mode !== "observe" && limit.attempts < mostResumes;
  const channel = mayNudge ? chooseChannel(record) : null;
  if (channel === null) return tellPerson(record, limit, now, policy);
  if (doubt.frozen) return unchanged(record);
  const order = { channel, attempt: 0, cause: null, actor: "rouse", wording: limitOverWording() };
  const resumed = over(record, limit, now).record;
  return andTell(queueNudge(resumed, order, now, policy), limitResumed(record.agentId, limit, "nudged", now));
}

const over = (record: AgentRecord, limit: Limit, now: MonoMs): Intervened =>
  unchanged({ ...record, limit: { ...limit, resumedAt: now } });

/** Its turn is over or it is at its prompt; of a quota that is used up, programs make an end of the turn. One that is put off tries again by itself. */
function standsStill({ terminal }: AgentRecord, { what }: Limit): boolean {
  const asks = terminal?.asks?.what;
  return asks === "prompt" || asks === "draft" || (terminal?.turnEndedAt ?? null) !== null || what === "usage";
}

/** It was told to go on, and that did not reach it. */
const isUnheard = ({ nudge }: AgentRecord, { since }: Limit): boolean =>
  nudge?.template === "limit-over" &&
  nudge.queuedAt >= since &&
  (nudge.state === "not-sent" || nudge.state === "unconfirmed");

/** From here on it waits for a person like one that asks. */
function tellPerson(record: AgentRecord, limit: Limit, now: MonoMs, policy: Policy): Intervened {
  const { agentId, terminal } = record;
  if (terminal === null) return unchanged(record);
  const activity = { kind: "WAITING", since: now, for: "input", until: null } as const;
  const asking = { ...terminal, asks: { what: "limit", since: now }, wait: "input" } as const;
  return {
    record: {
      ...record,
      activity,
      work: turnClock(record.work, activity, record.bornAt, now, policy),
      terminal: asking,
      limit: { ...limit, told: true },
    },
    events: [{ type: "AGENT_NEEDS_YOU", payload: { agentId, what: "limit", pattern: limit.pattern } }],
    actions: [],
  };
}
