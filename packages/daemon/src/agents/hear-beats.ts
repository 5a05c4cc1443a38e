import { createHash } from "node:crypto";
import {
  type Command,
  canaryId,
  canonicalJson,
  type DurationMs,
  days,
  describeIssues,
  type EpochMs,
  Heartbeat,
  type HeartbeatAck,
  type MonoMs,
  printable,
  recogniseHeartbeat,
  toIso,
  understandNames,
} from "@rouse/contract";
import type { HeartbeatSignal, Reply, Signal } from "@rouse/core";
import type { Host } from "../engine/engine.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { Moment } from "../engine/steady-clock.ts";
import { subscribe } from "../engine/subscribe.ts";
import { type EachSlice, endOfSlice } from "../engine/take-in-slices.ts";
import type { AgentEnroller } from "./enroll-agents.ts";
import type { Roster, Watched } from "./roster.ts";

/** A beat as it came, and its text where there is one: the text is what is kept. */
export interface SentBeat {
  readonly beat: unknown;
  readonly text?: string;
}

interface TakenBeats {
  readonly read: readonly (HeartbeatSignal | RefusedBeat)[];
  readonly acks: readonly HeartbeatAck[];
  readonly moment: Moment;
}

type BeatListener = (beat: Heartbeat, time: number) => void;

interface HearingParts {
  readonly agents: { readonly takeBeat: TakeBeat };
  readonly commits: GroupCommit;
  readonly readClock: () => Moment;
  readonly takeCanary: () => Promise<HeartbeatAck>;
  /** `unheard`: agents that have not heard of a reset yet. */
  readonly breakers: {
    readonly unheard: ReadonlySet<string>;
    hear(beat: Heartbeat, moment: Moment): void;
    commandsFor(agentId: string): readonly Command[];
  };
  readonly eachSlice: EachSlice;
}

/** Takes beats, and answers once they are saved. Callbacks instead of promises, because this runs for every beat. */
export function hearBeats({ agents, commits, readClock, takeCanary, breakers, eachSlice }: HearingParts) {
  const listeners = new Set<BeatListener>();
  let lastBeatAt: MonoMs | null = null;

  function takeBeats(
    sent: readonly SentBeat[],
    taken: (acks: readonly HeartbeatAck[]) => void,
    failed: (error: unknown) => void,
  ): void {
    const down = commits.down();
    if (down !== null) return failed(down);
    if (sent.length === 1 && isCanary(sent[0]?.beat)) return void takeCanary().then((ack) => taken([ack]), failed);
    if (sent.length > 1 && endOfSlice(sent, 0, weighBeat) < sent.length) return void takeMany(sent).then(taken, failed);
    const now = takeNow(sent);
    commits.whenSaved(() => {
      taken(now.acks);
      if (listeners.size > 0) announce(now);
    }, failed);
  }

  function takeNow(sent: readonly SentBeat[]): TakenBeats {
    const moment = readClock();
    const read = sent.map(({ beat }) => readBeat(beat, moment.time));
    const acks = read.map((signal, i) => {
      const ack = agents.takeBeat(signal, moment, sent[i]?.text);
      return "refused" in signal || ack.status !== "accepted" ? ack : tellOfBreakers(signal.beat, ack, moment);
    });
    lastBeatAt = moment.now;
    return { read, acks, moment };
  }

  /** What the agent says of its breakers, and what it has to hear of them. */
  function tellOfBreakers(beat: Heartbeat, ack: HeartbeatAck, moment: Moment): HeartbeatAck {
    const { agentId } = beat;
    if (beat.breakers !== undefined || breakers.unheard.has(agentId)) breakers.hear(beat, moment);
    if (!breakers.unheard.has(agentId)) return ack;
    return { ...ack, commands: [...ack.commands, ...breakers.commandsFor(agentId)] };
  }

  async function takeMany(sent: readonly SentBeat[]): Promise<readonly HeartbeatAck[]> {
    const slices: TakenBeats[] = [];
    const takeSlice = (slice: readonly SentBeat[]): void => {
      commits.refuseWhileDown();
      slices.push(takeNow(slice));
    };
    await eachSlice(sent, takeSlice, weighBeat);
    await commits.saved();
    if (listeners.size > 0) for (const slice of slices) announce(slice);
    return slices.flatMap(({ acks }) => acks);
  }

  function announce({ read, acks, moment: { time } }: TakenBeats): void {
    for (const [i, signal] of read.entries()) {
      if ("refused" in signal || acks[i]?.status !== "accepted") continue;
      for (const listener of listeners) listener(signal.beat, time);
    }
  }

  return {
    takeBeats,
    onBeat: (listener: BeatListener) => subscribe(listeners, listener),
    lastBeatAt: (): MonoMs | null => lastBeatAt,
  };
}

/** Each breaker that it tells of is a turn of that breaker, and may be one of the agent. */
function weighBeat({ beat }: SentBeat): number {
  const { breakers } = (beat ?? {}) as { breakers?: unknown };
  return 1 + (Array.isArray(breakers) ? breakers.length : 0);
}

const isCanary = (sent: unknown): boolean =>
  typeof sent === "object" && sent !== null && (sent as { agentId?: unknown }).agentId === canaryId;

export type BeatCounts = Record<HeartbeatAck["status"], number>;

interface TakingParts {
  readonly roster: Roster;
  readonly enroll: AgentEnroller["enroll"];
  readonly submit: Host<Watched, Signal, Reply | null>["submit"];
  readonly counts: BeatCounts;
}

/** `text` is the beat as it was sent, where it is known. */
export type TakeBeat = (signal: HeartbeatSignal | RefusedBeat, moment: Moment, text?: string) => HeartbeatAck;

/** A beat is refused, or becomes a turn of the agent that sent it. An unknown agent becomes known by its first beat. */
export function beatTaker({ roster, enroll, submit, counts }: TakingParts): TakeBeat {
  /** Why an agent does not become known by this beat. */
  function whyNotEnrolled({
    beat: { agentId, incarnation },
    checksum,
  }: HeartbeatSignal): HeartbeatAck["because"] | null {
    if (checksum === "wrong") return "wrong-checksum";
    if (agentId.startsWith("rouse.")) return "reserved-id";
    return incarnation !== undefined && incarnation < roster.firstLife(agentId) ? "old-incarnation" : null;
  }

  return function takeBeat(signal, moment, text) {
    if ("refused" in signal) {
      counts.rejected += 1;
      const { agentId, sequenceNumber, problem } = signal;
      return acknowledgeBeat(
        agentId,
        moment.time,
        { status: "rejected", sequenceNumber, because: "malformed" },
        [],
        problem,
      );
    }
    const { agentId } = signal.beat;
    const known = roster.find(agentId);
    const refused = known === undefined ? whyNotEnrolled(signal) : null;
    if (refused !== null) {
      counts.rejected += 1;
      const sequenceNumber = signal.beat.sequenceNumber ?? null;
      return acknowledgeBeat(agentId, moment.time, { status: "rejected", sequenceNumber, because: refused }, []);
    }
    const watched = known ?? enroll(agentId, signal.beat, moment);
    const reply = submit(watched, signal, moment, text);
    if (reply === null) throw new Error("a heartbeat always gets a reply");
    counts[reply.status] += 1;
    return acknowledgeBeat(agentId, moment.time, reply, reply.commands);
  };
}

type Answer = Pick<HeartbeatAck, "status" | "sequenceNumber"> & { because: HeartbeatAck["because"] | null };

function acknowledgeBeat(
  agentId: string,
  time: EpochMs,
  answer: Answer,
  commands: readonly Command[],
  problem?: string,
): HeartbeatAck {
  return {
    agentId,
    sequenceNumber: answer.sequenceNumber,
    status: answer.status,
    receivedAt: isoOf(time),
    commands: commands.length === 0 ? none : [...commands],
    ...(answer.because === null || answer.because === undefined ? {} : { because: answer.because }),
    ...(problem === undefined ? {} : { problem }),
  };
}

const none: Command[] = [];

/** Many beats share a millisecond, so its date is written once. */
let lastIso = { time: Number.NaN, text: "" };
function isoOf(time: EpochMs): string {
  if (lastIso.time !== time) lastIso = { time, text: toIso(time) };
  return lastIso.text;
}

export interface RefusedBeat {
  readonly refused: true;
  readonly agentId: string;
  readonly sequenceNumber: number | null;
  readonly problem: string;
}

/** Turns what an agent sent into a signal. After this edge nothing is unchecked, and no two clocks are compared. */
export function readBeat(sent: unknown, time: EpochMs): HeartbeatSignal | RefusedBeat {
  if (typeof sent !== "object" || sent === null || Array.isArray(sent)) {
    return { refused: true, agentId: "", sequenceNumber: null, problem: "a heartbeat is a JSON object" };
  }
  const message = sent as Record<string, unknown>;
  const named = understandNames(message);
  let beat = recogniseHeartbeat(named);
  if (beat === null) {
    const parsed = Heartbeat.safeParse(named);
    if (!parsed.success) return refuse(named, parsed.error.issues);
    beat = parsed.data;
  }
  const agentTime = beat.timestamp === undefined ? null : Date.parse(beat.timestamp);
  return {
    kind: "heartbeat",
    beat,
    checksum: beat.checksum === undefined ? "absent" : hasChecksum(message, beat.checksum) ? "right" : "wrong",
    agentTime,
    skew: agentTime === null ? null : agentTime - time,
    // The wait is measured by the agent's own clock where it sent one: then its skew cancels out. It is negative once
    // the moment it named has passed. Cut off at zero, each beat that names the same moment would put off the end.
    waitsFor: beat.waitingUntil === undefined ? null : withinAYear(Date.parse(beat.waitingUntil) - (agentTime ?? time)),
  };
}

/** Dates end in the year 275760, so the difference of two of them, added to now, need not be a date any more. */
const withinAYear = (wait: DurationMs): DurationMs => Math.max(-days(365), Math.min(wait, days(365)));

/**
 * A message with a number such as 1e999, which parses as infinity, has no canonical form: then no checksum is right.
 */
function hasChecksum(message: Record<string, unknown>, checksum: string): boolean {
  try {
    return checksumOf(message) === checksum.toLowerCase();
  } catch {
    return false;
  }
}

/** SHA-256 of the canonical JSON of everything but the checksum itself, as sent. */
export function checksumOf(message: Record<string, unknown>): string {
  const { checksum: _, ...rest } = message;
  return createHash("sha256").update(canonicalJson(rest)).digest("hex");
}

function refuse(
  sent: Record<string, unknown>,
  issues: readonly { path: PropertyKey[]; message: string }[],
): RefusedBeat {
  const { agentId, sequenceNumber } = sent;
  return {
    refused: true,
    agentId: typeof agentId === "string" ? printable(agentId, 128) : "",
    sequenceNumber: typeof sequenceNumber === "number" && Number.isInteger(sequenceNumber) ? sequenceNumber : null,
    problem: printable(describeIssues(issues, "heartbeat")),
  };
}
