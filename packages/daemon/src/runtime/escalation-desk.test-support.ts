import {
  agentOfEscalation,
  type Checkpoint,
  type EpochMs,
  type EscalationNotice,
  Fault,
  type Heartbeat,
  type Hold,
  type MonoMs,
  minutes,
  overlay,
  type PartialSettings,
  policyFrom,
  type RouseEvent,
  type SavedEvent,
  settingsOf,
  toIso,
} from "@rouse/contract";
import { type Action, type AgentRecord, newRecord, noDoubt, openEscalation, type Signal, supervise } from "@rouse/core";
import type { Escalations } from "../http/escalation-routes.ts";
import type { EventQuery } from "../ports/store.ts";
import { describeEscalation } from "./describe-incident.ts";
import { eventsInNotice, writeNotice } from "./escalation-notice.ts";
import { recallEnding } from "./recall-ending.ts";

/** When every story begins. */
export const dawn: EpochMs = Date.parse("2026-02-05T09:00:00Z");

const toWall = (at: MonoMs): EpochMs => dawn + at;

/** Agents in memory, judged by the real core on a clock that the story moves: what the monitor does, without a disk and without hands. */
export function escalationDesk(changes: PartialSettings = {}) {
  const settings = overlay(settingsOf("default"), changes);
  const policy = policyFrom("default@test", settings);
  const records = new Map<string, AgentRecord>();
  const events: SavedEvent[] = [];
  const actions: Action[] = [];
  const heard: { agentId: string; life: number | null }[] = [];
  let checkpoint: Checkpoint | null = null;
  let now: MonoMs = 0;
  let lastId = 0;

  function take(agentId: string, signal: Signal): AgentRecord {
    const before = records.get(agentId) ?? newRecord({ ...unborn, agentId }, now);
    const turn = supervise(before, signal, now, policy, noDoubt);
    records.set(agentId, turn.record);
    events.push(...turn.events.map((event) => save(event)));
    actions.push(...turn.actions);
    return turn.record;
  }

  const save = (event: RouseEvent): SavedEvent => ({ id: ++lastId, time: toIso(toWall(now)), ...event }) as SavedEvent;

  const beat = (agentId: string, said: Partial<Heartbeat> = {}): AgentRecord =>
    take(agentId, {
      kind: "heartbeat",
      beat: { agentId, status: "RUNNING", ...said },
      checksum: "absent",
      agentTime: null,
      skew: null,
      waitsFor: null,
    });

  const readEvents = async ({ agentId, types, after = 0, limit, newestFirst }: EventQuery): Promise<SavedEvent[]> => {
    const found = events.filter(
      (event) =>
        event.id > after &&
        (agentId === undefined || (event.payload as { agentId?: unknown }).agentId === agentId) &&
        (types === undefined || types.includes(event.type)),
    );
    return (newestFirst ? found.toReversed() : found).slice(0, limit);
  };

  const isOpen = (id: string): boolean => openEscalation(mustFind(agentOfEscalation(id) ?? ""))?.id === id;

  function mustFind(agentId: string): AgentRecord {
    const record = records.get(agentId);
    if (record === undefined) throw new Fault("agent-unknown", "no such agent");
    return record;
  }

  async function notice(id: string): Promise<EscalationNotice | null> {
    const record = records.get(agentOfEscalation(id) ?? "");
    const report = record === undefined ? null : describeEscalation(record, policy, toWall);
    if (record === undefined || report?.id !== id) return null;
    const lastEvents = await readEvents({ agentId: record.agentId, limit: 2 * eventsInNotice, newestFirst: true });
    return writeNotice({ report, record, policy, settings, lastEvents, checkpoint, now, toWall });
  }

  const outcomeOf = (id: string) => (records.has(agentOfEscalation(id) ?? "") ? "closed" : "unknown");

  const escalations: Escalations = {
    escalations: () => [...records.values()].flatMap((record) => describeEscalation(record, policy, toWall) ?? []),
    escalationNotice: notice,
    howItEnded: (id) => recallEnding(readEvents, id),
    async decide(escalation, { decision, actor, reason, minutes: more }) {
      const agentId = agentOfEscalation(escalation) ?? "";
      if (!records.has(agentId) || !isOpen(escalation)) return { outcome: outcomeOf(escalation) };
      const time = more === undefined ? null : minutes(more);
      take(agentId, { kind: "decided", escalation, decision, actor, reason, more: time });
      return { outcome: "taken" };
    },
    async acknowledge(escalation, actor) {
      const agentId = agentOfEscalation(escalation) ?? "";
      if (!records.has(agentId) || !isOpen(escalation)) return { outcome: outcomeOf(escalation) };
      take(agentId, { kind: "acknowledged", escalation, actor });
      return { outcome: "taken" };
    },
    async nudge(agentId, actor, message) {
      mustFind(agentId);
      const { nudge } = take(agentId, { kind: "nudge-ordered", actor, text: message });
      if (nudge === null)
        return { agentId, nudge: null, state: "not-sent", channel: null, message: "", because: "no way to reach it" };
      return { agentId, nudge: nudge.id, state: nudge.state, channel: nudge.channel, message: nudge.text };
    },
    async escalate(agentId, actor) {
      mustFind(agentId);
      const escalation = openEscalation(take(agentId, { kind: "escalation-ordered", actor }));
      if (escalation === null) throw new Fault("order-refused", "it is being stopped");
      const { id, severity, until } = escalation;
      return { agentId, escalation: id, severity, answerBy: toIso(toWall(until)) };
    },
    async answer(agentId, answer, life) {
      mustFind(agentId);
      heard.push({ agentId, life });
      take(agentId, { kind: "answered", answer });
    },
  };

  return {
    escalations,
    take,
    beat,
    notice,
    /** Also what others would have saved. */
    happened: (event: RouseEvent): void => void events.push(save(event)),
    heldBy: (agentId: string, hold: Partial<Hold> = {}): AgentRecord =>
      take(agentId, { kind: "held", adopted: false, hold: { ...heldOne, agentId, startedAt: now, ...hold } }),
    /** Time passes; it beats every minute, always the same, and is looked at whenever it asks to be. */
    passesFor(agentId: string, duration: number, said: Partial<Heartbeat> = {}): void {
      for (const until = now + duration; now < until; ) {
        const { wakeAt } = mustFind(agentId);
        const nextBeat = (Math.floor(now / 60_000) + 1) * 60_000;
        now = Math.min(until, nextBeat, Math.max(now + 1, wakeAt ?? until));
        if (now === nextBeat) beat(agentId, said);
        else take(agentId, { kind: "wake" });
      }
    },
    keepsCheckpoint: (kept: Checkpoint): void => {
      checkpoint = kept;
    },
    record: mustFind,
    becomes: (record: AgentRecord): void => void records.set(record.agentId, record),
    events,
    actions,
    heard,
    settings,
    policy,
    now: (): EpochMs => toWall(now),
  };
}

export type EscalationDesk = ReturnType<typeof escalationDesk>;

const unborn = { agentType: null, node: null, incarnation: 1, taskId: null, gapsSeen: 0 };

const heldOne: Omit<Hold, "agentId" | "startedAt"> = {
  agentType: null,
  taskId: null,
  policy: null,
  incarnation: 1,
  pid: 4242,
  family: "generic",
  structured: false,
  foreground: false,
};
