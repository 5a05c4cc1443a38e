import { noDoubt, relearn, type Signal } from "@rouse/core";
import { readBeat } from "../agents/hear-beats.ts";
import type { Roster, Watched } from "../agents/roster.ts";
import { policySubject } from "../config/choose-policy.ts";
import type { Config } from "../config/read-config.ts";
import type { Resumption, SavedSignal } from "../ports/store.ts";
import type { KeptSteps } from "../steps/recall-steps.ts";
import type { AliveMark } from "./steady-clock.ts";

/** When the run before this one was last certainly alive; `null` on the very first start. */
export function lastAlive(resumption: Resumption): AliveMark | null {
  const mark = resumption.marks["alive"];
  if (mark === undefined) return null;
  const saved = JSON.parse(mark) as AliveMark;
  const signal = resumption.signals[resumption.signals.length - 1];
  if (signal === undefined || signal.at <= saved.at) return saved;
  return { at: signal.at, time: saved.time + (signal.at - saved.at), boot: saved.boot + (signal.at - saved.at) };
}

/** Brings back every agent as it was when the last acknowledged signal of it was saved. */
export function restoreAgents(resumption: Resumption, roster: Roster, config: Config): void {
  const byNo = new Map<number, Watched>();
  for (const saved of resumption.records) byNo.set(saved.agentNo, roster.restore(saved));
  for (const signal of resumption.signals) {
    const watched = byNo.get(signal.agentNo);
    // An agent's record is saved with its first signal, so a signal without a record says nothing we could use.
    if (watched === undefined || signal.id <= watched.through) continue;
    const heard = toSignal(signal);
    const policy = config.policyFor(policySubject(watched.record, heard));
    const learnt = relearn(watched.record, heard, { now: signal.at, policy, doubt: noDoubt });
    watched.record = { ...learnt, wakeAt: signal.at };
    watched.through = signal.id;
  }
}

function toSignal(saved: SavedSignal): Signal {
  if (saved.kind === "holder") return JSON.parse(saved.body) as Signal;
  if (saved.kind === "steps") return { kind: "stepped", events: (JSON.parse(saved.body) as KeptSteps).events };
  if (saved.kind === "registered") return { kind: "registered", registration: JSON.parse(saved.body) };
  const signal = readBeat(JSON.parse(saved.body), saved.time);
  if ("refused" in signal)
    throw new Error(`signal ${saved.id} was accepted once and cannot be read any more: ${signal.problem}`);
  // The checksum was compared when the beat came. The kept copy may lack unknown fields and need not match it.
  return { ...signal, checksum: "absent" };
}
