import {
  type AgentAnswer,
  type AgentRegistration,
  type DurationMs,
  type EscalationDecision,
  type EventType,
  type FindingKind,
  type GapCause,
  type Heartbeat,
  keepPromise,
  type MonoMs,
  overlay,
  type PartialSettings,
  type Policy,
  type PresetName,
  parseDuration,
  policyFrom,
  type RouseEvent,
  settingsOf,
} from "@rouse/contract";
import type { Context } from "./context.ts";
import { type Doubt, type Gap, lastGap, noDoubt } from "./doubt.ts";
import { openEscalation } from "./intervene/escalation-life.ts";
import { type AgentRecord, type Finding, newRecord } from "./record.ts";
import type { Action, ActionOutcome, Reply, Signal, Turn } from "./signal.ts";
import { supervise } from "./supervise.ts";

/** When every story begins, on the steady timeline. */
export const dawn: MonoMs = 1_000_000_000;

export interface StoryGiven {
  readonly preset?: PresetName;
  readonly settings?: PartialSettings;
  readonly taskId?: string;
  readonly doubt?: Partial<Doubt>;
  /** Look this often, instead of only when the record asks for it. */
  readonly lookEvery?: DurationMs;
  /** What the hands answer at once to each action; `null`: they are still at it. */
  readonly hands?: (action: Action) => ActionOutcome | null;
  /** Look also this often, besides whenever the record asks for it. */
  readonly alsoEvery?: DurationMs;
  /** Sees every turn as it was taken. */
  readonly witness?: (seen: Witnessed) => void;
  /** Go on with this record instead of a new agent. */
  readonly record?: AgentRecord;
  readonly now?: MonoMs;
}

/** One turn, with its record, signal and context. */
export interface Witnessed {
  readonly before: AgentRecord;
  readonly signal: Signal;
  readonly turn: Turn;
  readonly now: MonoMs;
  readonly policy: Policy;
  readonly doubt: Doubt;
}

export interface BeatExtras {
  readonly checksum?: "absent" | "right" | "wrong";
  /** What the agent's own clock says; the story's time when not given. */
  readonly agentTime?: number | null;
  /** How much longer the agent says it will wait; negative when that moment has passed. */
  readonly waitsFor?: string | DurationMs;
}

export interface Decided {
  readonly escalation?: string;
  readonly actor?: string;
  readonly more?: string;
}

export type PayloadOf<T extends EventType> = Extract<RouseEvent, { type: T }>["payload"];
export type ActionOf<K extends Action["kind"]> = Extract<Action, { kind: K }>;

export type Said = Partial<Heartbeat>;

export const ms = (duration: string | DurationMs): DurationMs => {
  const parsed = typeof duration === "number" ? duration : parseDuration(duration);
  if (parsed === null) throw new Error(`${duration} is no duration`);
  return parsed;
};

export const policyOf = (preset: PresetName = "fleet", settings: PartialSettings = {}): Policy =>
  policyFrom(preset, overlay(settingsOf(preset), settings));

/**
 * One agent's life on virtual time. Between signals it is looked at exactly when its record asked to be (`wakeAt`), so
 * a story that sees something happen on time also shows that no deadline is missing. It starts at 0 s with the
 * registration.
 */
export function story(given: StoryGiven = {}) {
  let policy = policyOf(given.preset, given.settings);
  let now = given.now ?? dawn;
  let doubt: Doubt = { ...noDoubt, ...given.doubt };
  let sequence = 0;
  const agentId = "worker-1";
  let record = given.record ?? newRecord({ ...unborn, agentId, gapsSeen: lastGap(doubt)?.id ?? 0 }, now);
  const past: string[] = [];
  const verdicts: string[] = [];
  const events: RouseEvent[] = [];
  const moments: { readonly at: string; readonly type: EventType }[] = [];
  const actions: Action[] = [];
  let verdict = describeVerdict(record);
  let looks = 0;

  const seconds = (): string => `${(now - dawn) / 1000}s`;

  function take(signal: Signal): Turn {
    const before = record;
    const judgedBy = before.life.promise === null ? policy : keepPromise(policy, before.life.promise);
    const turn = supervise(before, signal, { now, policy: judgedBy, doubt });
    record = turn.record;
    given.witness?.({ before, signal, turn, now, policy: judgedBy, doubt });
    events.push(...turn.events);
    for (const { type } of turn.events) moments.push({ at: seconds(), type });
    actions.push(...turn.actions);
    if (record.health.state !== before.health.state) past.push(`${seconds()} ${record.health.state}`);
    noteVerdict(before);
    for (const action of turn.actions) {
      const outcome = given.hands?.(action) ?? null;
      if (outcome !== null) take({ kind: "action-outcome", key: action.key, outcome });
    }
    return turn;
  }

  function noteVerdict(before: AgentRecord): void {
    if (record.health.findings === before.health.findings && record.health === before.health) return;
    const seen = describeVerdict(record);
    if (seen === verdict) return;
    verdict = seen;
    verdicts.push(`${seconds()} ${verdict}`);
  }

  function wake(): void {
    looks += 1;
    take({ kind: "wake" });
    if (given.lookEvery === undefined && record.wakeAt !== null && record.wakeAt <= now) {
      throw new Error(`looked at ${seconds()}, the record wants to be looked at again without time passing`);
    }
  }

  function nextLook(): MonoMs | null {
    if (given.lookEvery !== undefined) return now + given.lookEvery;
    if (given.alsoEvery !== undefined)
      return Math.max(now, Math.min(record.wakeAt ?? Number.POSITIVE_INFINITY, now + given.alsoEvery));
    return record.wakeAt === null ? null : Math.max(record.wakeAt, now);
  }

  function silentFor(duration: string | DurationMs): void {
    const until = now + ms(duration);
    for (let next = nextLook(); next !== null && next <= until; next = nextLook()) {
      now = next;
      wake();
    }
    now = until;
  }

  function reply(turn: Turn): Reply {
    if (turn.reply === null) throw new Error("nobody answered");
    return turn.reply;
  }

  function beats(said: Said = {}, extras: BeatExtras = {}): Reply {
    sequence = said.sequenceNumber ?? sequence + 1;
    const beat: Heartbeat = { agentId: record.agentId, sequenceNumber: sequence, status: "RUNNING", ...said };
    const { checksum = "absent", agentTime = now } = extras;
    const waitsFor = extras.waitsFor === undefined ? null : ms(extras.waitsFor);
    return reply(take({ kind: "heartbeat", beat, checksum, agentTime, skew: agentTime === null ? null : 0, waitsFor }));
  }

  if (given.record === undefined) {
    take({ kind: "registered", registration: { agentId, taskId: given.taskId } });
  }

  return {
    take,
    beats,
    silentFor,
    /** Beats at this interval for this long; ends with the last beat just sent. */
    beatsEvery(interval: string, duration: string, said: Said | ((n: number) => Said) = {}): void {
      const until = now + ms(duration);
      for (let n = 0; now <= until; n++) {
        beats(typeof said === "function" ? said(n) : said);
        if (now + ms(interval) > until) break;
        silentFor(interval);
      }
      silentFor(until - now);
    },
    registers(registration: Partial<AgentRegistration> = {}): Reply {
      sequence = 0;
      return reply(take({ kind: "registered", registration: { agentId: record.agentId, ...registration } }));
    },
    /** The orchestrator's decision, on the open question unless said otherwise. */
    decides(decision: EscalationDecision, { escalation, actor = "orchestrator", more }: Decided = {}): Turn {
      const id = escalation ?? openEscalation(record)?.id ?? "none";
      const said = { decision, actor, reason: "because", more: more === undefined ? null : ms(more) };
      return take({ kind: "decided", escalation: id, ...said });
    },
    acknowledges: (escalation = openEscalation(record)?.id ?? "none"): Turn =>
      take({ kind: "acknowledged", escalation, actor: "operator" }),
    /** The agent's own answer, over the API. */
    answers: (kind: AgentAnswer["kind"], to?: string): Turn =>
      take({ kind: "answered", answer: { kind, ...(to === undefined ? {} : { to }) } }),
    isNudgedBy: (actor: string, text: string | null = null): Turn => take({ kind: "nudge-ordered", actor, text }),
    isEscalatedBy: (actor: string): Turn => take({ kind: "escalation-ordered", actor }),
    savesCheckpoint: (checkpoint: string): Turn => take({ kind: "checkpointed", checkpoint }),
    handsReport: (key: string): Turn => take({ kind: "action-outcome", key, outcome: "delivered" }),
    /** The monitor is blind for a while, and knows it afterwards. */
    monitorIsBlindFor(duration: string, cause: GapCause = "stall"): Gap {
      const gap: Gap = { id: (lastGap(doubt)?.id ?? 0) + 1, cause, from: now, to: now + ms(duration) };
      now = gap.to;
      doubt = { ...doubt, gaps: [...doubt.gaps, gap] };
      return gap;
    },
    /** The same stretch, noticed in another way as well. */
    monitorAlsoMissed(from: MonoMs, to: MonoMs, cause: GapCause): void {
      doubt = { ...doubt, gaps: [...doubt.gaps, { id: (lastGap(doubt)?.id ?? 0) + 1, cause, from, to }] };
    },
    /** A doubt changes, and the agent is woken for it. */
    monitorDoubts(change: Partial<Doubt>): void {
      doubt = { ...doubt, ...change };
      wake();
    },
    /** The same, without waking the agent. */
    peersWereHeard(): void {
      doubt = { ...doubt, peersHeardAt: now };
    },
    finding: (kind: FindingKind): Finding | undefined =>
      record.health.findings.find((finding) => finding.kind === kind),
    get state() {
      return record.health.state;
    },
    get reason() {
      return record.health.reason;
    },
    get record() {
      return record;
    },
    get now() {
      return now;
    },
    get doubt() {
      return doubt;
    },
    /** The policy of this moment. */
    get context(): Context {
      return { now, policy, doubt };
    },
    get looks() {
      return looks;
    },
    get policy() {
      return policy;
    },
    /** The settings changed; the record is not looked at for that. */
    policyBecomes(settings: PartialSettings): void {
      policy = policyOf(given.preset, settings);
    },
    /** Every change of health, such as "12s DEGRADED". */
    past,
    /** Every change of health or of a finding's kind, level or excuse. */
    verdicts,
    events,
    actions,
    eventTypes: (): string[] => events.map(({ type }) => type),
    /** When something of these kinds was told, such as "900s NUDGE_SENT". */
    when: (...types: readonly EventType[]): string[] =>
      moments.filter(({ type }) => types.includes(type)).map(({ at, type }) => `${at} ${type}`),
    told: <T extends EventType>(type: T): PayloadOf<T>[] =>
      events.filter((event) => event.type === type).map(({ payload }) => payload as PayloadOf<T>),
    did: <K extends Action["kind"]>(kind: K): ActionOf<K>[] =>
      actions.filter((action) => action.kind === kind) as ActionOf<K>[],
  };
}

export type Story = ReturnType<typeof story>;

const unborn = { agentType: null, node: null, incarnation: 1, taskId: null };

function describeVerdict(record: AgentRecord): string {
  const findings = record.health.findings.map(
    ({ kind, level, restrainedBy }) => `${kind}:${level}${restrainedBy === undefined ? "" : `(${restrainedBy})`}`,
  );
  return [record.health.state, ...findings.toSorted()].join(" ");
}
