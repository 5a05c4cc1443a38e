import { type DurationMs, Fault, type HolderInfo, type HolderLoss, seconds } from "@rouse/contract";
import { type HolderFile, inputOf, isSame, type MonitorId, wishesOf } from "@rouse/holder";
import { connectHolder, type HolderConnection, RefusedByHolder } from "../../holders/connect-holder.ts";
import { doorOf, isHolderAlive, readExitFile, readHolderFile, readSpec } from "../../holders/read-holder-files.ts";
import type { HolderNews, WatchSettings } from "../../ports/holders.ts";
import type { Log } from "../../ports/log.ts";
import { hearReports } from "./hear-reports.ts";

const answerWithin: DurationMs = seconds(5);
const tryAgainAfter: DurationMs = 500;
/** Holders give a sign of life every ten seconds; one that missed two is asked. */
const silentFor: DurationMs = seconds(22);
const lookEvery: DurationMs = seconds(1);

interface FollowParts {
  readonly home: string;
  readonly news: HolderNews;
  readonly monitor: MonitorId;
  readonly log: Log;
  /** Whether the holder was there before this monitor. */
  readonly adopted: boolean;
}

export interface Life {
  readonly agentId: string;
  readonly incarnation: number;
  connection(): HolderConnection | null;
  settle(settings: WatchSettings): void;
  /** Resolves when nothing more can be heard of this life. `unmet`: its holder was gone before the first word. */
  readonly over: Promise<"told" | "unmet">;
  stop(): void;
}

/** `replaced`: a newer monitor has this holder. `lost`: the holder is of no use. `again`: try to connect again. */
type Heard = "over" | "replaced" | "again" | { readonly lost: HolderLoss };

/**
 * Follows one life of one agent until its end is known and told: through its holder while that is there and listens to
 * us, otherwise by looking at the agent's process.
 */
export function followLife(file: HolderFile, parts: FollowParts): Life {
  const { agentId, incarnation } = file;
  const { home, news, log } = parts;
  let connection: HolderConnection | null = null;
  let stopped = false;
  let met = false;
  let unheardSince = performance.now();
  /** What was told last about a useless holder, so that it is told once. */
  let toldLoss: string | null = null;
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
      const heard = await listen().catch((error: unknown) => noteFault(error));
      if (heard === "over" || stopped) break;
      if (!isHolderAlive(file)) {
        if (!met) return "unmet";
        await tellEnd("gone");
        break;
      }
      // A holder of an earlier version does not say whose it is, so asking again cannot help.
      if (heard === "replaced" && file.store === undefined) {
        await tellEnd("old-epoch");
        break;
      }
      if (typeof heard === "object" && (await withoutHolder(heard.lost)) === "over") break;
      await pause(typeof heard === "object" ? lookEvery : tryAgainAfter);
    }
    return "told";
  }

  function noteFault(error: unknown): Heard {
    if (error instanceof RefusedByHolder) return { lost: error.because };
    if (!(error instanceof Fault && error.code === "holder-gone"))
      log.warn({ agentId, error: String(error) }, "the holder of an agent cannot be followed; will try again");
    return performance.now() - unheardSince > silentFor ? { lost: "silent" } : "again";
  }

  /** The holder is there and useless: the agent is still shown, and its end is seen by looking at its process. */
  async function withoutHolder(because: HolderLoss): Promise<"over" | "again"> {
    if (!(await isKnown())) return "over";
    // A silent holder may still tell how its agent ended. One that refuses us does not, but writes it to a file.
    if (because !== "silent" && isGone()) {
      await tellEnd(because);
      return "over";
    }
    await insist(() => tellLost(because));
    return "again";
  }

  /** Reads who is held from the files when the holder did not say it. */
  async function isKnown(): Promise<boolean> {
    if (met || news.standing(agentId)?.incarnation === incarnation) return true;
    const hold = readHold(home, file);
    if (hold === null) return false;
    await insist(() => meet(hold));
    return met;
  }

  /** One connection, from meeting the holder to its end. */
  async function listen(): Promise<"over" | "replaced" | "again"> {
    const line = await connectHolder(doorOf(home, file), { timeoutMs: answerWithin, monitor: parts.monitor });
    try {
      const { hold } = await line.probe();
      const known = await meet(hold);
      if (known === null) return "over";
      toldLoss = null;
      if (stopped) return "again"; // stopped while we met it: `finally` closes the line
      connection = line;
      return await hearReports(line, {
        ...known,
        epoch: parts.monitor.epoch,
        silentFor,
        save: (report) => news.reported(agentId, incarnation, report),
        tellSilence() {
          log.warn({ agentId }, "the holder of an agent does not answer");
          return tellLost("silent");
        },
      });
    } finally {
      if (connection !== null) unheardSince = performance.now();
      connection = null;
      line.close();
    }
  }

  async function meet(hold: HolderInfo): Promise<{ lastReport: number; settings: WatchSettings } | null> {
    if (hold.incarnation !== incarnation) return null;
    const known = await news.held(hold, parts.adopted);
    met = known !== null;
    return known;
  }

  const isGone = (): boolean => file.agent === null || !isSame(file.agent);

  /** Tells whether the process is there while its holder is of no use. */
  async function tellLost(because: HolderLoss): Promise<void> {
    const process = isGone() ? "gone" : "alive";
    if (toldLoss === `${because} ${process}`) return;
    if (because !== "silent" && because !== "gone")
      log.warn({ agentId, because }, `the holder of ${agentId} refuses this monitor; \`rouse doctor\` says what to do`);
    await news.lost(agentId, incarnation, process, exitOf(), because);
    toldLoss = `${because} ${process}`;
  }

  function exitOf() {
    const written = readExitFile(home, agentId);
    return written?.incarnation === incarnation ? written : null;
  }

  /** Waits for the end of the process and tells it, with the exit that the holder wrote down, if it did. */
  async function tellEnd(because: HolderLoss): Promise<void> {
    if (!isGone()) await insist(() => tellLost(because));
    while (!stopped && !isGone()) await pause(lookEvery);
    if (isHolderAlive(file) && exitOf() === null) await pause(lookEvery);
    if (!stopped) await insist(() => tellLost(because));
  }

  /** While the store is down nothing can be told: tries until it can. */
  async function insist(tell: () => Promise<unknown>): Promise<void> {
    while (!stopped) {
      try {
        return void (await tell());
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

/** Tells, from the files, of a life that ended while no monitor was there. */
export async function tellPastLife(home: string, agentId: string, hold: HolderInfo, news: HolderNews): Promise<void> {
  const written = readExitFile(home, agentId);
  const file = readHolderFile(home, agentId);
  if (file?.agent != null && isSame(file.agent)) return;
  if ((await news.held(hold, true)) === null) return;
  await news.lost(agentId, hold.incarnation, "gone", written?.incarnation === hold.incarnation ? written : null);
}

/** Who is held, from the files, for a holder that is gone or refuses us; `null` when they are of another life. */
export function readHold(home: string, file: HolderFile): HolderInfo | null {
  const spec = readSpec(home, file.agentId);
  if (spec === null || spec.incarnation !== file.incarnation) return null;
  const { agentId, agentType, taskId, policy, incarnation, family, structured, foreground } = spec;
  return {
    agentId,
    agentType,
    taskId,
    policy,
    incarnation,
    family,
    structured,
    foreground,
    input: inputOf(spec),
    ...wishesOf(spec),
    pid: file.agent?.pid ?? file.holder.pid,
    startedAt: file.startedAt,
  };
}
