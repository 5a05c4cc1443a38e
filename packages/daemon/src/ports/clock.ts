import type { DurationMs } from "@rouse/contract";
import type { ClockReading } from "@rouse/core";

/**
 * The machine's clocks. `mono` never goes back and is cheap enough for every turn. `read` reads all three together:
 * comparing them shows whether this process slept, stalled or was set to another time.
 */
export interface Clock {
  mono(): DurationMs;
  wall(): number;
  read(): ClockReading;
}

/** Timers. They hold no state: a lost one only means looking later. */
export interface Timers {
  /** Calls back once, not before `delay` has passed. */
  after(delay: DurationMs, callback: () => void): () => void;
  /** Calls back once whatever input is already waiting has been read. */
  soon(callback: () => void): void;
}
