import type { Command } from "@rouse/contract";
import type { Context } from "../context.ts";
import { type Doubt, lastGap } from "../doubt.ts";
import type { NudgeLife } from "../incident.ts";
import type { AgentRecord } from "../record.ts";
import type { Signal } from "../signal.ts";
import { type Intervened, unchanged } from "./alert-life.ts";
import { advance, type Evidence, isReminder, noteSent } from "./nudge-life.ts";

/** The commands on the acknowledgement of a beat or a check-in: a nudge until it was seen, and once where to go on. */
export function giveCommands(
  record: AgentRecord,
  signal: Signal,
  context: Context,
): Intervened & { readonly commands: readonly Command[] } {
  const { doubt } = context;
  const nothing = { record, events: [], actions: [], commands: [] };
  if (signal.kind !== "heartbeat" && signal.kind !== "checked-in") return nothing;
  const give = signal.kind === "heartbeat" ? giveNudge : handOverNudge;
  const nudged = doubt.frozen ? nothing : give(record, context);
  const { recovered } = nudged.record.recovery;
  // The context may be here before the new life: what is heard then is still the old one.
  if (recovered === null || recovered.told || recovered.life !== record.life.incarnation) return nudged;
  const because = recovered.context.reason;
  const id = `${record.agentId}/${record.life.incarnation}/recovery`;
  return {
    ...nudged,
    record: { ...nudged.record, recovery: { ...nudged.record.recovery, recovered: { ...recovered, told: true } } },
    commands: [...nudged.commands, { id, kind: "recovery", because, recovery: recovered.context }],
  };
}

function giveNudge(record: AgentRecord, context: Context): Intervened & { readonly commands: readonly Command[] } {
  const { now } = context;
  const { nudge } = record.ladder;
  const open = nudge !== null && nudge.channel === "acknowledgement" && now < nudge.expiresAt;
  const isOver = nudge !== null && isReminder(nudge) && record.ladder.incident === null;
  if (!open || isOver || (nudge.state !== "queued" && nudge.state !== "sent"))
    return { record, events: [], actions: [], commands: [] };
  const given = nudge.state === "queued" ? noteSent(record, nudge, context) : unchanged(record);
  return { ...given, commands: [{ id: nudge.id, kind: "nudge", because: nudge.template, message: nudge.text }] };
}

/**
 * The agent fetched the nudge itself, so it is seen, whatever its channel, also one that could not be delivered. A
 * nudge that the holder is about to deliver is left to the holder, so that the agent is not told twice.
 */
function handOverNudge(record: AgentRecord, context: Context): Intervened & { readonly commands: readonly Command[] } {
  const { now } = context;
  const { nudge } = record.ladder;
  if (nudge === null || now >= nudge.expiresAt || !isToBeFetched(nudge))
    return { record, events: [], actions: [], commands: [] };
  const given = nudge.sent === null ? noteSent(record, nudge, context) : unchanged(record);
  const fetched: Evidence = { state: "seen", by: "fetched by checking in", receipt: true };
  const seen = advance(given.record, given.record.ladder.nudge ?? nudge, fetched, now);
  return {
    record: seen.record,
    events: [...given.events, ...seen.events],
    actions: [],
    commands: [{ id: nudge.id, kind: "nudge", because: nudge.template, message: nudge.text }],
  };
}

const isToBeFetched = ({ state, channel }: NudgeLife): boolean =>
  state === "sent" || state === "not-sent" || (state === "queued" && channel === "acknowledgement");

interface CheckedIn {
  readonly record: AgentRecord;
  readonly commands: readonly Command[];
}

/**
 * After a gap every agent is asked to report in full: the request goes with the acknowledgement of the next beat, and
 * the beat after that is the answer. An agent born after the gap is not asked.
 */
export function askToCheckIn(record: AgentRecord, signal: Signal, doubt: Doubt): CheckedIn {
  if (signal.kind !== "heartbeat") return { record, commands: [] };
  const gap = lastGap(doubt);
  if (
    gap !== null &&
    !doubt.frozen &&
    record.life.bornAt < gap.to &&
    (record.life.checkIn === null || record.life.checkIn.gap < gap.id)
  ) {
    return {
      record: { ...record, life: { ...record.life, checkIn: { gap: gap.id, state: "asked" } } },
      commands: [{ id: `check-in-${gap.id}`, kind: "check-in", because: `the monitor was blind (${gap.cause})` }],
    };
  }
  if (record.life.checkIn?.state !== "asked") return { record, commands: [] };
  return {
    record: { ...record, life: { ...record.life, checkIn: { ...record.life.checkIn, state: "answered" } } },
    commands: [],
  };
}
