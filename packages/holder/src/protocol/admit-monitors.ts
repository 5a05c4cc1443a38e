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

/** What a holder knows of the monitors that came to it. */
export interface KnownMonitors {
  readonly store: string | null;
  readonly epoch: number | null;
}

export function whyRefused({ store, epoch }: KnownMonitors, monitor: MonitorId): HolderRefusal | null {
  if (store !== null && monitor.store !== store) return "other-store";
  if (epoch === null) return null;
  if (monitor.epoch < epoch) return "old-epoch";
  return monitor.epoch > epoch + highestLeap ? "epoch-too-high" : null;
}

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
      const because = whyRefused({ store, epoch: highest }, monitor);
      if (because !== null) return because;
      if (store === null) belong(monitor.store);
      highest = monitor.epoch;
      return null;
    },
    adopt: belong,
    store: () => store,
    epoch: () => highest,
  };
}
