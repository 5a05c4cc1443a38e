import { type DurationMs, hours, type MonoMs, minutes, seconds } from "@rouse/contract";
import type { Context } from "./context.ts";
import type { AgentRecord } from "./record.ts";
import type { Action, ActionOutcome } from "./signal.ts";
import { supervise } from "./supervise.ts";

interface Foreseen {
  readonly what: "nudge" | "ask" | "stop";
  readonly at: MonoMs;
}

/** How far ahead to look. */
const horizon: DurationMs = hours(24);
/** How often a held agent is looked at, as its holder's reports would wake it: closely at first. */
const closeStep: DurationMs = seconds(5);
const step: DurationMs = minutes(1);
const closely: DurationMs = minutes(10);

/**
 * What would be done about an agent, and when, if nothing changed: the same judgement, run ahead in time. Each thing
 * once, in order. Nudges count as given and unanswered, questions as unanswered.
 */
export function foresee(given: AgentRecord, context: Context): readonly Foreseen[] {
  const { now } = context;
  const seen: Foreseen[] = [];
  let record = given;
  let at = now;
  const pace = (): DurationMs => (at < now + closely ? closeStep : step);
  for (
    let next = nextLook(record, at, pace());
    next !== null && next <= now + horizon;
    next = nextLook(record, at, pace())
  ) {
    at = next;
    const turn = supervise(stillTheSame(record, at), { kind: "wake" }, { ...context, now: at });
    record = turn.record;
    for (const action of turn.actions) {
      const what = kinds[action.kind];
      if (what !== undefined && seen.every((one) => one.what !== what)) seen.push({ what, at });
      const outcome = expected(action);
      if (outcome === null) continue;
      record = supervise(record, { kind: "action-outcome", key: action.key, outcome }, { ...context, now: at }).record;
    }
    if (seen.some(({ what }) => what === "stop")) break;
  }
  return seen;
}

const kinds: Readonly<Partial<Record<Action["kind"], Foreseen["what"]>>> = {
  "nudge-agent": "nudge",
  escalate: "ask",
  // The order to stop follows when the work is saved.
  "save-work": "stop",
};

function expected(action: Action): ActionOutcome | null {
  if (action.kind !== "nudge-agent") return null;
  return { kind: "nudge", delivery: { kind: "sent", channel: "stdin", echoed: false } };
}

const isHeld = ({ seen: { terminal } }: AgentRecord): boolean =>
  terminal !== null && terminal.exit === null && terminal.holder === "here";

/** The next look at a held agent: its holder's next report would wake it. */
function nextLook(record: AgentRecord, at: MonoMs, pace: DurationMs): MonoMs | null {
  const { wakeAt } = record;
  if (!isHeld(record)) return wakeAt === null || wakeAt > at ? wakeAt : at + pace;
  return wakeAt === null || wakeAt <= at ? at + pace : Math.min(wakeAt, at + pace);
}

/** The holder goes on to report that nothing has changed. */
function stillTheSame(record: AgentRecord, at: MonoMs): AgentRecord {
  const { terminal } = record.seen;
  if (terminal === null || !isHeld(record)) return record;
  const tree = terminal.tree === null ? null : { ...terminal.tree, at };
  return {
    ...record,
    life: { ...record.life, heardAt: at },
    seen: { ...record.seen, terminal: { ...terminal, seenAt: at, tree } },
  };
}
