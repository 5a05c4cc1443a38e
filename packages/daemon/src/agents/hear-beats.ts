import type { Heartbeat, HeartbeatAck, MonoMs } from "@rouse/contract";
import type { HeartbeatSignal } from "@rouse/core";
import { type Canary, isCanary } from "../engine/canary.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { Moment } from "../engine/steady-clock.ts";
import { subscribe } from "../engine/subscribe.ts";
import { type EachSlice, mostPerSlice } from "../engine/take-in-slices.ts";
import type { Agents } from "./host-agents.ts";
import { type RefusedBeat, readBeat } from "./read-beat.ts";

/** A beat as it came, and its text where there is one: what is kept is what was sent. */
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
  readonly agents: Agents;
  readonly commits: GroupCommit;
  readonly readClock: () => Moment;
  readonly takeCanary: Canary["takeCanary"];
  readonly eachSlice: EachSlice;
}

/** Takes beats, and answers once they are saved. With callbacks, because this is done for every beat. */
export function hearBeats({ agents, commits, readClock, takeCanary, eachSlice }: HearingParts) {
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
    if (sent.length > mostPerSlice) return void takeMany(sent).then(taken, failed);
    const now = takeNow(sent);
    commits.whenSaved(() => {
      taken(now.acks);
      if (listeners.size > 0) announce(now);
    }, failed);
  }

  function takeNow(sent: readonly SentBeat[]): TakenBeats {
    const moment = readClock();
    const read = sent.map(({ beat }) => readBeat(beat, moment.time));
    const acks = read.map((signal, i) => agents.takeBeat(signal, moment, sent[i]?.text));
    lastBeatAt = moment.now;
    return { read, acks, moment };
  }

  async function takeMany(sent: readonly SentBeat[]): Promise<readonly HeartbeatAck[]> {
    const slices: TakenBeats[] = [];
    await eachSlice(sent, (slice) => {
      commits.refuseWhileDown();
      slices.push(takeNow(slice));
    });
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
