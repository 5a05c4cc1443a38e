import { Fault } from "@rouse/contract";
import type { HolderNews } from "../packages/daemon/src/ports/holders.ts";
import type { Holder } from "./holders.ts";
import type { Timeline } from "./virtual-time.ts";

const second = 1000;
/** A holder that does not answer is noticed after this long. */
export const silentFor = 27 * second;
const tryAgainAfter = second;

/** The monitor that listens. */
interface Listener {
  readonly news: HolderNews;
  readonly epoch: number;
  readonly since: number;
}

/** Tells whichever monitor is there what holders saw: in order, until it is saved, and again from where the last one left off. */
export function createTelling(timeline: Timeline) {
  /** Whoever has something to tell. */
  let eager = new Set<Holder>();
  let listener: Listener | null = null;

  /** Carries what there is to tell to the monitor; called in its turn. */
  function deliver(): void {
    if (listener === null || eager.size === 0) return;
    const waiting = eager;
    eager = new Set();
    for (const holder of waiting) carry(holder, listener);
  }

  function carry(holder: Holder, to: Listener): void {
    if (holder.carrying || holder.over) return;
    if (holder.dead) return tellLoss(holder, to);
    if (timeline.now() < holder.muteUntil) return tellSilence(holder, to);
    const next = holder.unheard[0];
    if (holder.met && next === undefined) return;
    holder.carrying = true;
    const said = holder.met && next !== undefined ? tell(holder, next, to) : meet(holder, to);
    said.then(
      () => resumeMonitor(holder, to),
      (error: unknown) => {
        if (!(error instanceof Fault)) throw error;
        comeAgain(holder, to);
      },
    );
  }

  function resumeMonitor(holder: Holder, to: Listener): void {
    if (to !== listener) return;
    holder.carrying = false;
    if (holder.over || (holder.met && holder.unheard.length === 0)) return;
    carry(holder, to);
  }

  /** The store is down: it waits, here and there. */
  function comeAgain(holder: Holder, to: Listener): void {
    timeline.after(tryAgainAfter, () => {
      if (to !== listener) return;
      holder.carrying = false;
      eager.add(holder);
    });
  }

  async function meet(holder: Holder, to: Listener): Promise<void> {
    const known = await to.news.held(holder.hold, holder.actor.life.startedAt < to.since);
    if (to !== listener) return;
    if (known === null) {
      holder.over = true;
      return;
    }
    holder.met = true;
    holder.silenceTold = false;
    holder.highestEpoch = Math.max(holder.highestEpoch, to.epoch);
    holder.unheard = holder.unheard.filter(({ report }) => report.seq > known.lastReport);
    if (holder.unheard.length === 0 && holder.actor.life.incarnation !== holder.incarnation) holder.over = true;
  }

  async function tell(holder: Holder, { report, shows }: Holder["unheard"][number], to: Listener): Promise<void> {
    await to.news.reported(holder.actor.id, holder.incarnation, report);
    if (to !== listener) return;
    holder.unheard.shift();
    if (shows && holder.actor.life.incarnation === holder.incarnation) holder.actor.noteSeen("report", timeline.now());
    if (report.exit !== null) holder.over = true;
  }

  /** It has not hung up, and does not answer: what of the agent's own process? */
  function tellSilence(holder: Holder, to: Listener): void {
    if (holder.silenceTold || !holder.met || timeline.now() < holder.muteFrom + silentFor) return;
    holder.silenceTold = true;
    to.news.lost(holder.actor.id, holder.incarnation, isThere(holder) ? "alive" : "gone", null).catch(() => undefined);
  }

  const isThere = ({ actor, incarnation }: Holder): boolean =>
    actor.life.incarnation === incarnation && actor.isAlive();

  /** Its holder is gone: the process itself is looked at until it is over. */
  function tellLoss(holder: Holder, to: Listener): void {
    if (!holder.met) return void meetDead(holder, to);
    const isAlive = isThere(holder);
    if (isAlive && holder.silenceTold) return;
    holder.carrying = true;
    to.news.lost(holder.actor.id, holder.incarnation, isAlive ? "alive" : "gone", null).then(
      () => {
        if (to !== listener) return;
        holder.carrying = false;
        if (isAlive) holder.silenceTold = true;
        else holder.over = true;
      },
      () => comeAgain(holder, to),
    );
  }

  /** A monitor that finds only what a dead holder left behind tells of it once its agent is over; one that knew it goes on knowing it. */
  function meetDead(holder: Holder, to: Listener): void {
    const known = to.news.standing(holder.actor.id);
    if (known === null || known.incarnation < holder.incarnation) return;
    holder.met = true;
    holder.silenceTold = false;
    if (known.over || known.incarnation > holder.incarnation) holder.over = true;
    else carry(holder, to);
  }

  return {
    deliver,
    wants: (holder: Holder): void => void eager.add(holder),
    /** A monitor is there: it finds everybody. */
    listen(news: HolderNews, epoch: number, holders: Iterable<Holder>): void {
      listener = { news, epoch, since: timeline.now() };
      for (const holder of holders) {
        holder.met = false;
        holder.carrying = false;
        if (!holder.over) eager.add(holder);
      }
    },
    hangUp(): void {
      listener = null;
    },
  };
}
