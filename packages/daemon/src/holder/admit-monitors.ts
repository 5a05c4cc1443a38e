import type { HolderRefusal } from "@rouse/contract";

/** Who a monitor says it is: whose database it keeps, and the how manieth monitor on it. */
export interface MonitorId {
  readonly store: string;
  readonly epoch: number;
}

export interface Admission {
  /** Why a monitor is not to be listened to; `null` when it is. Remembers its epoch, and its store when it is the first of all. */
  refuses(monitor: MonitorId): HolderRefusal | null;
  /** A person hands the agent over: from now on it is this store's, whatever epochs the other had. */
  adopt(store: string): void;
  store(): string | null;
  /** The highest epoch a monitor of that store came with. */
  epoch(): number | null;
}

/** A monitor's epoch grows by one with every start. One that is so much higher is a mistake or a lie, and would lock out all who come after. */
export const highestLeap = 10_000;

/** An epoch counts only for the store it belongs to. `belongsTo` is told whenever that is another than before. */
export function admitMonitors(bornFor: string | null, belongsTo: (store: string) => void): Admission {
  let store = bornFor;
  let highest: number | null = null;

  function belong(to: string): void {
    store = to;
    highest = null;
    belongsTo(to);
  }

  return {
    refuses(monitor) {
      if (store === null) belong(monitor.store);
      if (monitor.store !== store) return "other-store";
      if (highest !== null && monitor.epoch < highest) return "old-epoch";
      if (highest !== null && monitor.epoch > highest + highestLeap) return "epoch-too-high";
      highest = monitor.epoch;
      return null;
    },
    adopt: belong,
    store: () => store,
    epoch: () => highest,
  };
}
