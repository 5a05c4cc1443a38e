import type { HeartbeatAck } from "@rouse/contract";
import type { BreakerWorld } from "../world/breaker-world.ts";
import type { Letter, Network } from "../world/network.ts";
import type { Random } from "../world/random.ts";
import type { Timeline } from "../world/virtual-time.ts";
import type { Actor, Rhythm } from "./actor.ts";

interface Parts {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly network: Network;
  readonly rhythm: Rhythm;
  /** What a right clock shows at the beginning. */
  readonly wallAtStart: number;
  readonly noteAck: (actor: Actor, ack: HeartbeatAck) => void;
  readonly breakers: BreakerWorld;
}

/** Agents that nobody holds, and the beats by which they are known. */
export function createBeats({ timeline, random, network, rhythm, wallAtStart, noteAck, breakers }: Parts) {
  /** Sends a beat again when it is not acknowledged. Only agents that beat every few minutes do; the others just beat on. */
  function sendSurely(letter: Letter, tries = 5): void {
    network.send(letter);
    if (tries === 1) return;
    timeline.after(15_000, () => {
      if (!letter.acknowledged && !letter.from.isSilent()) sendSurely(letter, tries - 1);
    });
  }

  function beat(actor: Actor, of: number): void {
    if (actor.isSilent() || actor.lives !== of) return;
    const now = timeline.now();
    const skew = actor.id.endsWith("7") ? 5 * 365 * 86_400_000 : 0;
    const letter = write(actor, breakers.addTo(actor.beat(now, wallAtStart + now + skew)));
    if (rhythm.running < 60_000) network.send(letter);
    else sendSurely(letter);
    if (random.chance(0.0005)) network.send(write(actor, { agentId: actor.id, sequenceNumber: "not a number" }));
    timeline.plan(actor.nextBeatAt(now, rhythm) + random.between(-100, 100), () => beat(actor, of));
  }

  function write(actor: Actor, beat: object): Letter {
    const { mode } = actor;
    const sentAt = timeline.now();
    const answered = (ack: HeartbeatAck): void => {
      if (ack.status !== "rejected") actor.acknowledged(mode);
      noteAck(actor, ack);
      breakers.answered(actor.id, ack, sentAt);
    };
    return { beat, from: actor, acknowledged: false, answered };
  }

  return {
    sendSurely,
    /** Starts, or starts again, the agent's beats; whatever it had planned before is off. */
    live(actor: Actor): void {
      actor.lives += 1;
      const of = actor.lives;
      if (actor.isBlocked(timeline.now())) timeline.plan(actor.mode.until, () => beat(actor, of));
      else beat(actor, of);
    },
  };
}
