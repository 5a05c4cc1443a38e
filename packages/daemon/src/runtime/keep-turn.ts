import type { AgentRecord, KillBudgetKeeper, Signal, Turn } from "@rouse/core";
import type { SavedSignal } from "../ports/store.ts";
import type { DraftFiller } from "./fill-draft.ts";
import type { GroupCommit } from "./group-commit.ts";
import { isWorthKeeping } from "./hear-holders.ts";
import type { RecordKeeper } from "./keep-records.ts";
import type { Watched } from "./roster.ts";
import { hostOf } from "./self-doubt.ts";
import type { Moment } from "./steady-clock.ts";

interface KeepingParts {
  readonly commits: GroupCommit;
  readonly records: RecordKeeper;
  readonly budget: KillBudgetKeeper;
  readonly saveEvents: DraftFiller["saveEvents"];
  readonly intend: DraftFiller["intend"];
  readonly lastSignalId: number;
}

/** What of a turn goes into the next commit: its signal, what came of it, and what it cost. */
export function keepTurns(parts: KeepingParts) {
  const { commits, records, budget, saveEvents, intend } = parts;
  let { lastSignalId } = parts;

  /** A turn with consequences saves its record with them. One that only moved clocks saves its signal; the record follows within a minute. */
  function keepTurn(
    watched: Watched,
    signal: Signal,
    turn: Turn,
    moment: Moment,
    text: string | undefined,
    policy: string,
  ): void {
    const body = bodyToKeep(signal, turn, text);
    if (body !== null) keepSignal(watched, keptAs(signal), body, moment);
    if (turn.events.length > 0) saveEvents(turn.events, moment.time, watched.record.agentId, policy);
    for (const action of turn.actions) {
      intend(action, moment.time);
      if (action.kind === "stop-agent" && action.spends) charge(watched.record, moment);
    }
    if (isOfConsequence(turn) || isWord(signal) || hasForgiven(watched.record, turn.record)) records.saveNow(watched);
    else if (signal.kind !== "wake") records.saveLater(watched, moment.now);
  }

  function keepSignal(watched: Watched, kind: SavedSignal["kind"], body: string, { now: at, time }: Moment): void {
    watched.through = ++lastSignalId;
    commits.draft().signals.push({ id: lastSignalId, agentNo: watched.no, at, time, kind, body });
  }

  /** Saved with the order it was spent on, so that a crash does not fill the budget again. */
  function charge(record: AgentRecord, { now, time }: Moment): void {
    budget.spend(hostOf(record), now);
    commits.draft().marks["kills"] = JSON.stringify(budget.kills());
    saveEvents(budget.news(now), time, null);
  }

  return { keepTurn, keepSignal, lastSignalId: (): number => lastSignalId };
}

export type TurnKeeper = ReturnType<typeof keepTurns>;

export const isOfConsequence = (turn: Turn): boolean => turn.events.length > 0 || turn.actions.length > 0;

/** Gaps are known only while we run: what they mean for a deadline that runs is known from the record alone. */
const hasForgiven = (before: AgentRecord, { life: { gapsSeen }, ladder: { incident, nudge } }: AgentRecord): boolean =>
  gapsSeen !== before.life.gapsSeen && (incident !== null || nudge !== null);

/** Text longer than this is kept as what was understood of it: nobody fills the disk with spaces. */
const longestText = 1024;

/** What people and the orchestrator say is in no signal that could be learnt again: only the record keeps it. */
const isWord = ({ kind }: Signal): boolean =>
  kind !== "wake" && kind !== "heartbeat" && kind !== "reported" && kind !== "stepped";

function keptAs(signal: Signal): SavedSignal["kind"] {
  return signal.kind === "registered" || signal.kind === "heartbeat" ? signal.kind : "holder";
}

/** Beats that were news are kept, late ones too, as they were sent; repeated and refused ones are not. */
function bodyToKeep(signal: Signal, turn: Turn, text: string | undefined): string | null {
  if (signal.kind === "held" || signal.kind === "reported" || signal.kind === "holder-lost") {
    const isNews = turn.reply === null || turn.reply.status === "accepted";
    return isNews && (signal.kind !== "reported" || isWorthKeeping(signal.report)) ? JSON.stringify(signal) : null;
  }
  if (signal.kind === "registered")
    return turn.reply?.status === "accepted" ? JSON.stringify(signal.registration) : null;
  if (signal.kind !== "heartbeat") return null;
  const status = turn.reply?.status;
  if (status !== "accepted" && status !== "stale") return null;
  return text !== undefined && text.length <= longestText ? text : JSON.stringify(signal.beat);
}
