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

interface Rope {
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
 * Carries seals out of the database after the commit that holds them; nobody waits for it. An anchor that is slow or away
 * gets the newest seal next, which covers those before it. After a crash the newest is offered again: at least once.
 */
export function anchorSeals({ anchors, places, storeId, timers, log, tell }: AnchoringParts) {
  const ropes = new Map<string, Rope>();
  const stop = new AbortController();
  let newest: AuditSeal | null = null;
  let isStopping = false;
  let whenIdle: () => void = () => undefined;

  /** Called after each seal, because the configuration may have changed. */
  function refresh(): void {
    const wanted = new Set(places());
    for (const [text, rope] of ropes) if (!wanted.has(text)) drop(text, rope);
    for (const text of wanted) if (!ropes.has(text)) moor(text);
    for (const rope of ropes.values()) if (rope.cancelRetry === null) pull(rope, firstRetry);
  }

  function drop(text: string, rope: Rope): void {
    rope.cancelRetry?.();
    ropes.delete(text);
  }

  function moor(text: string): void {
    const place = readAnchor(text);
    const anchor = "problem" in place ? null : anchors(place);
    if (anchor === null) return;
    const idle = { through: 0, isBusy: false, hasFailed: false, cancelRetry: null };
    ropes.set(text, { name: nameAnchor(text), anchor, ...idle });
  }

  function pull(rope: Rope, pause: DurationMs): void {
    const seal = newest;
    if (seal === null || rope.isBusy || rope.through >= seal.number || stop.signal.aborted) return;
    rope.isBusy = true;
    rope.anchor.place(seal, stop.signal).then(
      () => arrived(rope, seal),
      (error: Error) => failed(rope, error.message, pause),
    );
  }

  function arrived(rope: Rope, seal: AuditSeal): void {
    rope.isBusy = false;
    rope.through = seal.number;
    if (rope.hasFailed && !isStopping)
      tell({ type: "AUDIT_ANCHOR_RESTORED", payload: { anchor: rope.name, number: seal.number } });
    rope.hasFailed = false;
    pull(rope, firstRetry);
    settle();
  }

  function failed(rope: Rope, problem: string, pause: DurationMs): void {
    rope.isBusy = false;
    if (isStopping) return settle();
    log.warn({ anchor: rope.name, problem }, "a seal of the audit trail could not be anchored and will be tried again");
    if (!rope.hasFailed) tell({ type: "AUDIT_ANCHOR_FAILED", payload: { anchor: rope.name, problem } });
    rope.hasFailed = true;
    rope.cancelRetry = timers.after(pause, () => {
      rope.cancelRetry = null;
      pull(rope, Math.min(pause * 2, longestRetry));
    });
  }

  function settle(): void {
    if (![...ropes.values()].some(({ isBusy }) => isBusy)) whenIdle();
  }

  return {
    refresh,
    /** Lines that were saved. */
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
      for (const rope of ropes.values()) rope.cancelRetry?.();
      if ([...ropes.values()].some(({ isBusy }) => isBusy))
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
