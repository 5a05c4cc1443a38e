import type { AgentRecord, Context, Reply, Signal, Stepped } from "@rouse/core";
import type { Engine, KeptTurn } from "../engine/engine.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { RecordKeeper } from "../engine/keep-records.ts";
import { hostOf } from "../engine/self-doubt.ts";
import type { Moment } from "../engine/steady-clock.ts";
import type { SavedSignal } from "../ports/store.ts";
import type { Watched } from "./roster.ts";

export type AgentTurn = KeptTurn<Watched, AgentRecord, Signal, Context, Reply | null>;

interface KeepingParts {
  readonly engine: Pick<Engine, "saveEvents">;
  readonly commits: GroupCommit;
  readonly records: RecordKeeper;
  /** Charges the kill budget for one agent of this host. */
  readonly spend: (host: string, moment: Moment) => void;
  readonly lastSignalId: number;
}

/** Puts a turn into the next commit: its signal, what came of it, and what it cost. */
export function keepTurns({ engine, commits, records, spend, ...from }: KeepingParts) {
  let { lastSignalId } = from;

  /**
   * A turn with consequences saves its record. A turn that only moved clocks saves its signal, and the record later.
   */
  function keepTurn({ kept, before, signal, context, stepped, moment, raw }: AgentTurn): void {
    const { events, actions } = stepped;
    const body = bodyToKeep(signal, stepped, raw);
    if (body !== null) keepSignal(kept, keptAs(signal), body, moment);
    if (events.length > 0) engine.saveEvents(events, moment.time, before.agentId, context.policy.id);
    // The budget is charged at once and in the same commit: no other step may come between an order and its price.
    for (const action of actions) if (action.kind === "stop-agent" && action.spends) spend(hostOf(before), moment);
    if (isOfConsequence(stepped) || isWord(signal) || hasForgiven(before, kept.record)) records.saveNow(kept);
    else if (signal.kind !== "wake" && kept.unsaved === null) records.saveLater(kept, moment.now);
  }

  function keepSignal(watched: Watched, kind: SavedSignal["kind"], body: string, { now: at, time }: Moment): void {
    watched.through = ++lastSignalId;
    commits.draft().signals.push({ id: lastSignalId, agentNo: watched.no, at, time, kind, body });
  }

  return { keepTurn, keepSignal, lastSignalId: (): number => lastSignalId };
}

export const isOfConsequence = ({ events, actions }: AgentTurn["stepped"]): boolean =>
  events.length > 0 || actions.length > 0;

/** Gaps are known only while this run lasts: what a gap added to a running deadline is kept by the record alone. */
const hasForgiven = (before: AgentRecord, { life: { gapsSeen }, ladder: { incident, nudge } }: AgentRecord): boolean =>
  gapsSeen !== before.life.gapsSeen && (incident !== null || nudge !== null);

/** A longer text is kept as what was understood of it, so that nobody fills the disk with spaces. */
const longestText = 1024;

/** A word of a person or the orchestrator is in no signal that could be learnt again: only the record keeps it. */
const isWord = ({ kind }: Signal): boolean =>
  kind !== "wake" && kind !== "heartbeat" && kind !== "reported" && kind !== "stepped";

function keptAs(signal: Signal): SavedSignal["kind"] {
  return signal.kind === "registered" || signal.kind === "heartbeat" ? signal.kind : "holder";
}

/** Beats that were news, and late ones, are kept as they were sent; repeated and refused ones are not kept. */
function bodyToKeep(signal: Signal, turn: Stepped<AgentRecord, Reply | null>, text: string | undefined): string | null {
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

/** A mere sign of life is repeated by the next report. Any other report is kept before the holder may forget it. */
export const isWorthKeeping = (report: Extract<Signal, { kind: "reported" }>["report"]): boolean =>
  report.exit !== null || report.leftovers !== undefined || report.sights.some(({ kind }) => kind !== "output");
