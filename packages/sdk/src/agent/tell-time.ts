import { steadyNow } from "./surroundings.ts";

/**
 * The agent's clock as Rouse is told it: it follows the clock on the wall forward and never goes back. Where that clock
 * is absurd, it goes on from Rouse's own.
 */
export function tellTime() {
  let anchor = { wall: Date.now(), steady: steadyNow() };
  let trusted = true;

  function wallAt(steady: number): number {
    const now = steadyNow();
    const gone = anchor.wall + now - anchor.steady;
    // Ahead of it: a suspend, or somebody set the clock.
    if (trusted && Date.now() > gone) anchor = { wall: Date.now(), steady: now };
    return anchor.wall + steady - anchor.steady;
  }

  return {
    isoAt: (steady: number): string => new Date(wallAt(steady)).toISOString(),
    /** Rouse refused our time: its own is taken from here on. */
    follow(wall: string): void {
      const at = Date.parse(wall);
      if (Number.isNaN(at)) return;
      trusted = false;
      anchor = { wall: at, steady: steadyNow() };
    },
  };
}
