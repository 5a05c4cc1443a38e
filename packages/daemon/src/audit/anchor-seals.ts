import type { AuditRecord, AuditSeal, DurationMs, RouseEvent } from "@rouse/contract";
import { nameAnchor, readAnchor } from "../config/read-anchor.ts";
import type { Anchor, OpenAnchor } from "../ports/anchors.ts";
import type { Timers } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { sealOf } from "./seal-trail.ts";

const firstRetry: DurationMs = 1000;
const longestRetry: DurationMs = 60_000;
/** How long a monitor that stops waits for its last seal. A seal that is late is placed at the next start. */
const longestGoodbye: DurationMs = 3000;

interface AnchoringParts {
  readonly anchors: OpenAnchor;
  /** The anchors that are configured now. */
  readonly places: () => readonly string[];
  /** The id the trail is sealed under. */
  readonly storeId: string;
  readonly timers: Timers;
  readonly log: Log;
  readonly tell: (event: RouseEvent) => void;
}

/** An anchor, and how far it is. */
interface Anchoring {
  readonly name: string;
  readonly anchor: Anchor;
  /** Number of the last seal that is there. */
  through: number;
  isBusy: boolean;
  hasFailed: boolean;
  /** While it waits to try again. */
  cancelRetry: (() => void) | null;
}

/**
 * Carries seals out of the database after the commit that holds them; nobody waits for it. An anchor that is slow or
 * away gets the newest seal next, which covers those before it. After a crash the newest is offered again: at least
 * once.
 */
export function anchorSeals({ anchors, places, storeId, timers, log, tell }: AnchoringParts) {
  const anchorings = new Map<string, Anchoring>();
  const stop = new AbortController();
  let newest: AuditSeal | null = null;
  let isStopping = false;
  let whenIdle: () => void = () => undefined;

  /** Called after each seal, because the configuration may have changed. */
  function refresh(): void {
    const wanted = new Set(places());
    for (const [text, to] of anchorings) {
      if (wanted.has(text)) continue;
      to.cancelRetry?.();
      anchorings.delete(text);
    }
    for (const text of wanted) if (!anchorings.has(text)) open(text);
    for (const to of anchorings.values()) if (to.cancelRetry === null) placeNewest(to, firstRetry);
  }

  function open(text: string): void {
    const place = readAnchor(text);
    const anchor = "problem" in place ? null : anchors(place);
    if (anchor === null) return;
    const idle = { through: 0, isBusy: false, hasFailed: false, cancelRetry: null };
    anchorings.set(text, { name: nameAnchor(text), anchor, ...idle });
  }

  function placeNewest(to: Anchoring, pause: DurationMs): void {
    const seal = newest;
    if (seal === null || to.isBusy || to.through >= seal.number || stop.signal.aborted) return;
    to.isBusy = true;
    to.anchor.place(seal, stop.signal).then(
      () => arrived(to, seal),
      (error: Error) => failed(to, error.message, pause),
    );
  }

  function arrived(to: Anchoring, seal: AuditSeal): void {
    to.isBusy = false;
    to.through = seal.number;
    if (to.hasFailed && !isStopping)
      tell({ type: "AUDIT_ANCHOR_RESTORED", payload: { anchor: to.name, number: seal.number } });
    to.hasFailed = false;
    placeNewest(to, firstRetry);
    settle();
  }

  function failed(to: Anchoring, problem: string, pause: DurationMs): void {
    to.isBusy = false;
    if (isStopping) return settle();
    log.warn({ anchor: to.name, problem }, "a seal of the audit trail could not be anchored and will be tried again");
    if (!to.hasFailed) tell({ type: "AUDIT_ANCHOR_FAILED", payload: { anchor: to.name, problem } });
    to.hasFailed = true;
    to.cancelRetry = timers.after(pause, () => {
      to.cancelRetry = null;
      placeNewest(to, Math.min(pause * 2, longestRetry));
    });
  }

  const isBusy = (): boolean => [...anchorings.values()].some((to) => to.isBusy);

  function settle(): void {
    if (!isBusy()) whenIdle();
  }

  return {
    refresh,
    /** Takes lines that were saved. */
    take(lines: readonly AuditRecord[]): void {
      const seal = lines.flatMap((line) => sealOf(storeId, line) ?? []).at(-1);
      if (seal !== undefined) this.offer(seal);
    },
    offer(seal: AuditSeal): void {
      newest = seal;
      refresh();
    },
    names: (): string[] => places().map(nameAnchor),
    /** Waits a moment for seals under way; nothing is tried again. */
    async stop(): Promise<void> {
      isStopping = true;
      for (const to of anchorings.values()) to.cancelRetry?.();
      if (isBusy())
        await new Promise<void>((resolve) => {
          const cancel = timers.after(longestGoodbye, resolve);
          whenIdle = () => {
            cancel();
            resolve();
          };
        });
      stop.abort();
    },
  };
}
