import type { HeartbeatAck } from "@rouse/contract";
import type { Random } from "./random.ts";
import type { Timeline } from "./virtual-time.ts";

/** A beat on its way, and what its sender makes of the acknowledgement. */
export interface Letter {
  readonly beat: object;
  readonly from: { readonly id: string; isSilent(): boolean };
  acknowledged: boolean;
  readonly answered: (ack: HeartbeatAck) => void;
}

export interface Partition {
  readonly members: ReadonlySet<string>;
  readonly since: number;
  /** Large enough that the monitor must recognise it as one incident. */
  readonly mass: boolean;
}

/**
 * The monitor looks again every second at silence that nobody else's beats confirm. The first beat after a long cut may confirm the silence of agents
 * that are a moment slower.
 */
const lookAgainWithin = 1600;

interface Line {
  /** Beats still to be lost of a burst; never three in a row: three lost beats are silence by any definition. */
  toLose: number;
  /** Beats that get through promptly after a burst. */
  calm: number;
  /** Beats in a row that did not get through. */
  missed: number;
}

/**
 * Between agents and monitor: takes a few milliseconds, sometimes seconds, loses, repeats and reorders. While cut off, beats are kept by their
 * agents and all come at once, in any order, when the cut heals.
 */
export function createNetwork(timeline: Timeline, random: Random, arrive: (letter: Letter) => void) {
  const lines = new Map<string, Line>();
  let partition: Partition | null = null;
  let healedAt = Number.NEGATIVE_INFINITY;
  let heardAgainAt = Number.NEGATIVE_INFINITY;
  let lastMembers: Partition | null = null;
  let kept: Letter[] = [];
  /** Nobody of the last cut has been heard yet, so nobody can know that it has healed. */
  let stillUnheard = false;

  const deliver = (letter: Letter): void => {
    if (stillUnheard && lastMembers?.members.has(letter.from.id)) {
      stillUnheard = false;
      heardAgainAt = timeline.now();
    }
    arrive(letter);
  };

  function send(letter: Letter): void {
    const { id } = letter.from;
    const line = lineOf(id);
    line.missed += 1;
    if (partition?.members.has(id)) return void kept.push(letter);
    if (line.toLose > 0) {
      line.toLose -= 1;
      line.calm = 2;
      return;
    }
    const arriveLater = (delay: number): void => {
      line.missed = 0;
      timeline.after(delay, () => deliver(letter));
    };
    if (line.calm > 0) {
      line.calm -= 1;
      return arriveLater(random.between(1, 60));
    }
    const roll = random.next();
    if (roll < 0.004) {
      line.toLose = random.whole(0, 1);
      line.calm = 2;
      return;
    }
    arriveLater(roll < 0.01 ? random.between(500, 3000) : random.between(1, 60));
    if (roll > 0.995) arriveLater(random.between(100, 8000));
  }

  function lineOf(id: string): Line {
    let line = lines.get(id);
    if (line === undefined) {
      line = { toLose: 0, calm: 0, missed: 0 };
      lines.set(id, line);
    }
    return line;
  }

  return {
    send,
    cut(next: Partition): void {
      partition = next;
    },
    heal(): void {
      if (partition === null) return;
      lastMembers = partition;
      partition = null;
      healedAt = timeline.now();
      stillUnheard = true;
      const waiting = kept;
      kept = [];
      for (const letter of waiting) timeline.after(random.between(0, 5000), () => deliver(letter));
    },
    missedInARow: (id: string): number => lineOf(id).missed,
    /** How long an agent has been out of reach, as seen from the monitor; `null` when it is not. */
    cutOffFor(id: string): { lasted: number; mass: boolean } | null {
      const now = timeline.now();
      if (partition?.members.has(id)) return { lasted: now - partition.since, mass: partition.mass };
      // Until somebody is heard again, the monitor cannot know that the cut has healed.
      if (lastMembers?.members.has(id) && (stillUnheard || now - heardAgainAt <= lookAgainWithin))
        return { lasted: healedAt - lastMembers.since, mass: lastMembers.mass };
      return null;
    },
    /** Whether an agent of the last small partition may still be about to send its first beat. */
    justHealed: (id: string): boolean =>
      lastMembers !== null && !lastMembers.mass && lastMembers.members.has(id) && timeline.now() - healedAt < 10_000,
  };
}

export type Network = ReturnType<typeof createNetwork>;
