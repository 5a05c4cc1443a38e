import { type AgentRecord, isOver, isStartingAgain } from "../record.ts";
import { isGone, isSettled } from "./fate-of-work.ts";

/**
 * Whether whoever asks in the name of this agent is over. `life`: which one asks, where that is known; a later one than was heard of is there. Where it
 * is not known, the asker may be the life that is being started.
 */
export function isLifeOver(record: AgentRecord, life: number | null): boolean {
  if (life !== null && life > record.life.incarnation) return false;
  if (life === null && isStartingAgain(record)) return false;
  return isOver(record) || saidThatItIsDone(record);
}

/** Its work was given away and nothing more happens to it by itself: what is kept for it would be kept for ever. */
export const isGoneForGood = (record: AgentRecord): boolean =>
  (isOver(record) && isSettled(record)) || saidThatItIsDone(record) || isGone(record);

/** A program that says so in a terminal may still be there for the next thing. */
const saidThatItIsDone = ({ seen: { terminal }, work: { activity } }: AgentRecord): boolean =>
  terminal === null && activity.kind === "FINISHED";
