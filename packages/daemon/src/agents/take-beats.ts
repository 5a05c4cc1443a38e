import { type Command, type EpochMs, type HeartbeatAck, toIso } from "@rouse/contract";
import type { HeartbeatSignal, Reply, Signal } from "@rouse/core";
import type { Host } from "../engine/engine.ts";
import type { Moment } from "../engine/steady-clock.ts";
import type { AgentEnroller } from "./enroll-agents.ts";
import type { RefusedBeat } from "./read-beat.ts";
import type { Roster, Watched } from "./roster.ts";

export type BeatCounts = Record<HeartbeatAck["status"], number>;

interface TakingParts {
  readonly roster: Roster;
  readonly enroll: AgentEnroller["enroll"];
  readonly submit: Host<Watched, Signal, Reply | null>["submit"];
  readonly counts: BeatCounts;
}

/** `text`: the beat as it was sent, where it is known. */
export type TakeBeat = (signal: HeartbeatSignal | RefusedBeat, moment: Moment, text?: string) => HeartbeatAck;

/** Beats: refused, or a turn of the agent that sent it. An agent that nobody announced announces itself with its first beat. */
export function takeBeats({ roster, enroll, submit, counts }: TakingParts): TakeBeat {
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
    if (known === undefined && (signal.checksum === "wrong" || agentId.startsWith("rouse."))) {
      counts.rejected += 1;
      const because = signal.checksum === "wrong" ? "wrong-checksum" : "reserved-id";
      const sequenceNumber = signal.beat.sequenceNumber ?? null;
      return acknowledgeBeat(agentId, moment.time, { status: "rejected", sequenceNumber, because }, []);
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

/** Many beats share a millisecond; writing its date once is enough. */
let lastIso = { time: Number.NaN, text: "" };
function isoOf(time: EpochMs): string {
  if (lastIso.time !== time) lastIso = { time, text: toIso(time) };
  return lastIso.text;
}
