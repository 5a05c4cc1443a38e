/** One timer that can be moved. */
export interface Alarm {
  /** At that time, whatever was asked before. */
  ringIn(ms: number): void;
  /** At that time or earlier, if it is to ring anyway. */
  ringWithin(ms: number): void;
  stop(): void;
}

export function createAlarm(ring: () => void): Alarm {
  let timer: NodeJS.Timeout | null = null;
  let at = 0;
  const set = (ms: number): void => {
    if (timer !== null) clearTimeout(timer);
    at = performance.now() + ms;
    timer = setTimeout(() => {
      timer = null;
      ring();
    }, ms);
  };
  return {
    ringIn: set,
    ringWithin(ms) {
      if (timer === null || performance.now() + ms < at) set(ms);
    },
    stop() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
    },
  };
}
