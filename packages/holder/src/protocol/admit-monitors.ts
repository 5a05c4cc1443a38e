import type { HolderRefusal } from "@rouse/contract";

/** Who a monitor says it is: the id of its database, and the epoch under which it took that over. */
export interface MonitorId {
  readonly store: string;
  readonly epoch: number;
}

export type Admission = ReturnType<typeof admitMonitors>;

/** An epoch grows by one with every start. One this much higher is wrong, and would lock out all later monitors. */
export const highestLeap = 10_000;

/** The first argument: the store a holder belongs to, and the highest epoch it saw. */
export function whyRefused(
  { store, epoch }: { readonly store: string | null; readonly epoch: number | null },
  monitor: MonitorId,
): HolderRefusal | null {
  if (store !== null && monitor.store !== store) return "other-store";
  if (epoch === null) return null;
  if (monitor.epoch < epoch) return "old-epoch";
  return monitor.epoch > epoch + highestLeap ? "epoch-too-high" : null;
}

/** An epoch counts only for its store. `belongsTo` is called whenever the agent gets another store. */
export function admitMonitors(bornFor: string | null, belongsTo: (store: string) => void) {
  let store = bornFor;
  let highest: number | null = null;

  function belong(to: string): void {
    store = to;
    highest = null;
    belongsTo(to);
  }

  return {
    /** Why a monitor is refused. `null`: it is admitted; its epoch, and the store of the first one, are remembered. */
    refuses(monitor: MonitorId): HolderRefusal | null {
      const because = whyRefused({ store, epoch: highest }, monitor);
      if (because !== null) return because;
      if (store === null) belong(monitor.store);
      highest = monitor.epoch;
      return null;
    },
    /** A person hands the agent over: it belongs to this store now, whatever epochs the other store had. */
    adopt: belong,
    store: () => store,
    /** The highest epoch that a monitor of that store came with. */
    epoch: () => highest,
  };
}
