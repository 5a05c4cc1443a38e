import { Fault, type Settings } from "@rouse/contract";
import { hasLeftovers, type Signal } from "@rouse/core";
import type { Engine } from "../engine/engine.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { Moment } from "../engine/steady-clock.ts";
import type { HolderNews, WatchSettings } from "../ports/holders.ts";
import type { Agents } from "./host-agents.ts";
import { isWorthKeeping } from "./keep-turn.ts";
import type { Roster } from "./roster.ts";

interface HearingParts {
  readonly roster: Roster;
  readonly engine: Engine;
  readonly agents: Agents;
  readonly commits: GroupCommit;
  readonly readClock: () => Moment;
  readonly settingsOf: (agentId: string) => WatchSettings;
}

/** Turns what holders tell into signals, and answers them once it is saved. */
export function hearHolders({ roster, engine, agents, commits, readClock, settingsOf }: HearingParts): HolderNews {
  /** While the store is down nothing is taken: the holder keeps it and tells it again. */
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

export const watchSettingsFrom = ({ terminal }: Settings): WatchSettings => ({
  patterns: terminal.patterns,
  completionMarker: terminal.completion_marker,
});
