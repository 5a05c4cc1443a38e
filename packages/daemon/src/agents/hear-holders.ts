import { Fault, type Settings } from "@rouse/contract";
import { hasLeftovers, type Signal } from "@rouse/core";
import { policySubject } from "../config/choose-policy.ts";
import type { HolderNews, WatchSettings } from "../ports/holders.ts";
import { type Commit, storeMark } from "../ports/store.ts";
import type { MonitorServices } from "../shared-services.ts";
import { isWorthKeeping } from "./keep-turn.ts";

type HearingParts = Pick<MonitorServices, "roster" | "engine" | "agents" | "commits" | "readClock">;

/** Finds the holders of this machine, and tells them how to read their agents' terminals. */
export function connectHolders(
  parts: HearingParts & Pick<MonitorServices, "holders" | "repeating" | "log" | "config">,
) {
  const { holders, roster } = parts;
  function settingsOf(agentId: string): WatchSettings {
    const known = roster.find(agentId)?.record;
    const subject = known === undefined ? { agentId, agentType: null, taskId: null } : policySubject(known);
    return watchSettingsFrom(parts.config().settingsFor(subject));
  }

  return {
    /** Looks for holders once the store's id is saved. A holder obeys the monitor with the highest epoch. */
    meetWith({ epoch, marks }: Commit): void {
      const store = marks[storeMark];
      if (typeof store !== "string" || parts.repeating.stopped()) return;
      holders
        .begin(hearHolders(parts, settingsOf), epoch, store)
        .catch((error: unknown) => parts.log.error({ error: String(error) }, "supervised agents cannot be looked for"));
    },
    settle: (): void => holders.settle(settingsOf),
  };
}

const watchSettingsFrom = ({ terminal }: Settings): WatchSettings => ({
  patterns: terminal.patterns,
  completionMarker: terminal.completion_marker,
});

/** Turns what holders tell into signals, and answers them once it is saved. */
export function hearHolders(
  { roster, engine, agents, commits, readClock }: HearingParts,
  settingsOf: (agentId: string) => WatchSettings,
): HolderNews {
  /** While the store is down nothing is taken: the holder keeps its report and sends it again. */
  const { refuseWhileDown } = commits;

  async function tell(agentId: string, signal: Signal, mustSave: boolean): Promise<void> {
    refuseWhileDown();
    const watched = roster.find(agentId);
    if (watched === undefined) throw new Fault("agent-unknown", "its holder is not known yet");
    agents.take(watched, signal, readClock());
    if (mustSave) await commits.saved();
  }

  return {
    standing(agentId) {
      const record = roster.find(agentId)?.record;
      if (record === undefined || record.seen.terminal === null) return null;
      return {
        incarnation: record.life.incarnation,
        over: record.seen.terminal.exit !== null,
        left: hasLeftovers(record),
      };
    },
    registered(agentId) {
      const record = roster.find(agentId)?.record;
      if (record === undefined || record.seen.terminal === null) return null;
      const { pid, identity = null, leftovers } = record.seen.terminal;
      const left = leftovers?.processes.map((each) => each.pid) ?? [];
      return { incarnation: record.life.incarnation, pid, identity, left };
    },
    async held(hold, adopted) {
      refuseWhileDown();
      const moment = readClock();
      const reply = agents.takeHold(hold, adopted, moment);
      await commits.saved();
      if (reply?.status === "rejected") return null;
      const lastReport = roster.find(hold.agentId)?.record.seen.terminal?.lastReport ?? 0;
      return { lastReport, settings: settingsOf(hold.agentId) };
    },
    reported(agentId, incarnation, report) {
      const ago = Math.max(0, readClock().time - report.at);
      return tell(agentId, { kind: "reported", incarnation, report, ago }, isWorthKeeping(report));
    },
    lost(agentId, incarnation, process, written, because = "gone") {
      const exit = written?.exit ?? null;
      const ago = written === null ? {} : { ago: Math.max(0, readClock().time - written.at) };
      return tell(agentId, { kind: "holder-lost", incarnation, process, exit, ...ago, because }, true);
    },
    nobodyLeft: (agentId, incarnation) => tell(agentId, { kind: "leftovers-gone", incarnation }, true),
    async endsLeftovers(agentId, incarnation, processes) {
      refuseWhileDown();
      const evidence = { incarnation, pids: processes.map(({ pid }) => pid) };
      const line = { actor: "rouse", action: "end-leftovers", subject: agentId, reason: "before-restart", evidence };
      engine.addToTrail({ ...line, time: readClock().time, policy: null });
      commits.schedule();
      await commits.saved();
    },
  };
}
