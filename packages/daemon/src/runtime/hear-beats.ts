import type { Heartbeat, HeartbeatAck, MonoMs } from "@rouse/contract";
import type { HeartbeatSignal } from "@rouse/core";
import type { GroupCommit } from "./group-commit.ts";
import { isCanary, type PathProof } from "./prove-path.ts";
import { type RefusedBeat, readBeat } from "./read-beat.ts";
import type { Moment } from "./steady-clock.ts";
import { subscribe } from "./subscribe.ts";
import type { Turns } from "./turns.ts";

/** A beat as it came, and its text where there is one: what is kept is what was sent. */
export interface SentBeat {
  readonly beat: unknown;
  readonly text?: string;
}

type BeatListener = (beat: Heartbeat, time: number) => void;

interface HearingParts {
  readonly turns: Turns;
  readonly commits: GroupCommit;
  readonly readClock: () => Moment;
  readonly takeCanary: PathProof["takeCanary"];
}

/** Takes beats, and answers once they are saved. With callbacks, because this is done for every beat. */
export function hearBeats({ turns, commits, readClock, takeCanary }: HearingParts) {
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
    const moment = readClock();
    const read = sent.map(({ beat }) => readBeat(beat, moment.time));
    const acks = read.map((signal, i) => turns.takeBeat(signal, moment, sent[i]?.text));
    lastBeatAt = moment.now;
    commits.whenSaved(() => {
      taken(acks);
      if (listeners.size > 0) announce(read, acks, moment);
    }, failed);
  }

  function announce(
    read: readonly (HeartbeatSignal | RefusedBeat)[],
    acks: readonly HeartbeatAck[],
    { time }: Moment,
  ): void {
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
