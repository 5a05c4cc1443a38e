import { type DurationMs, Fault, type Hold, seconds } from "@rouse/contract";
import { connectHolder, type HolderConnection } from "../../holder/connect-holder.ts";
import { isSame } from "../../holder/processes/read-processes.ts";
import { isHolderAlive, readExitFile, readHolderFile } from "../../holder/read-holder-files.ts";
import type { HolderFile } from "../../holder/spec.ts";
import type { HolderNews, WatchSettings } from "../../ports/holders.ts";
import type { Log } from "../../ports/log.ts";
import { hearReports } from "./hear-reports.ts";

const answerWithin: DurationMs = seconds(5);
const tryAgainAfter: DurationMs = 500;
/** Holders give a sign of life every ten seconds; one that missed two is asked. */
const silentFor: DurationMs = seconds(22);
const lookEvery: DurationMs = seconds(1);

export interface FollowParts {
  readonly home: string;
  readonly news: HolderNews;
  readonly epoch: number;
  readonly log: Log;
  /** Whether the holder was there before this monitor. */
  readonly adopted: boolean;
}

export interface Life {
  readonly agentId: string;
  readonly incarnation: number;
  connection(): HolderConnection | null;
  settle(settings: WatchSettings): void;
  /** Resolves when there is nothing more to hear of this life. `unmet`: its holder was gone before anybody had heard of it. */
  readonly over: Promise<"told" | "unmet">;
  stop(): void;
}

/**
 * Follows one life of one agent: through its holder for as long as that is there, and after that by looking at the process itself, until its end is
 * known and told.
 */
export function followLife(file: HolderFile, parts: FollowParts): Life {
  const { agentId, incarnation } = file;
  const { home, news, log } = parts;
  let connection: HolderConnection | null = null;
  let stopped = false;
  let met = false;
  let wakeUp: () => void = () => {};

  const pause = (duration: DurationMs): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, duration);
      wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  async function follow(): Promise<"told" | "unmet"> {
    while (!stopped) {
      const outcome = await listen().catch((error: unknown) => noteTrouble(error));
      if (outcome === "over" || stopped) break;
      if (outcome === "replaced") {
        log.warn({ agentId }, "another monitor has taken this agent over");
        break;
      }
      if (!isHolderAlive(file)) {
        if (!met) return "unmet";
        await tellLoss();
        break;
      }
      await pause(tryAgainAfter);
    }
    return "told";
  }

  function noteTrouble(error: unknown): "again" {
    if (!(error instanceof Fault && error.code === "holder-gone"))
      log.warn({ agentId, error: String(error) }, "the holder of an agent cannot be followed; will try again");
    return "again";
  }

  /** One connection, from meeting the holder to its end. */
  async function listen(): Promise<"over" | "replaced" | "again"> {
    const line = await connectHolder(file.socket, { timeoutMs: answerWithin });
    try {
      const { hold } = await line.probe();
      const known = await meet(hold);
      if (known === null) return "over";
      if (stopped) return "again"; // while we met it: nobody has closed this line
      connection = line;
      return await hearReports(line, {
        ...known,
        epoch: parts.epoch,
        agentId,
        incarnation,
        news,
        log,
        silentFor,
        isGone,
        tellSilence,
      });
    } finally {
      connection = null;
      line.close();
    }
  }

  async function meet(hold: Hold): Promise<{ lastReport: number; settings: WatchSettings } | null> {
    if (hold.incarnation !== incarnation) return null;
    const known = await news.held(hold, parts.adopted);
    met = true;
    return known;
  }

  const isGone = (): boolean => file.agent === null || !isSame(file.agent);

  /** A holder that does not answer, though it has not hung up. */
  const tellSilence = (): Promise<void> => news.lost(agentId, incarnation, isGone() ? "gone" : "alive", exitOf());

  function exitOf() {
    const written = readExitFile(home, agentId);
    return written?.incarnation === incarnation ? written.exit : null;
  }

  /** The second way to know: the process itself. What the holder wrote down in time still counts. */
  async function tellLoss(): Promise<void> {
    if (!isGone()) await insist(() => news.lost(agentId, incarnation, "alive", null));
    while (!stopped && !isGone()) await pause(lookEvery);
    if (!stopped) await insist(() => news.lost(agentId, incarnation, "gone", exitOf()));
  }

  /** While the store is down nothing can be told; it stays true until it can. */
  async function insist(tell: () => Promise<void>): Promise<void> {
    while (!stopped) {
      try {
        return await tell();
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        await pause(tryAgainAfter);
      }
    }
  }

  return {
    agentId,
    incarnation,
    connection: () => connection,
    settle: (settings) =>
      connection?.say({ say: "settings", settings: { ...settings, patterns: [...settings.patterns] } }),
    over: follow(),
    stop() {
      stopped = true;
      wakeUp();
      connection?.close();
    },
  };
}

/** A life that ended while no monitor was there to see it: told once, from what was written down. */
export async function tellPastLife(home: string, agentId: string, hold: Hold, news: HolderNews): Promise<void> {
  const written = readExitFile(home, agentId);
  const file = readHolderFile(home, agentId);
  if (file?.agent != null && isSame(file.agent)) return;
  if ((await news.held(hold, true)) === null) return;
  await news.lost(agentId, hold.incarnation, "gone", written?.incarnation === hold.incarnation ? written.exit : null);
}
