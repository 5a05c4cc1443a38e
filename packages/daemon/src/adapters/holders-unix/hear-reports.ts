import { type DurationMs, Fault, type HolderReport } from "@rouse/contract";
import type { HolderConnection } from "../../holders/connect-holder.ts";
import type { WatchSettings } from "../../ports/holders.ts";

interface HearingParts {
  readonly epoch: number;
  readonly lastReport: number;
  readonly settings: WatchSettings;
  readonly silentFor: DurationMs;
  save(report: HolderReport): Promise<unknown>;
  /** Called when the holder does not answer a probe. */
  tellSilence(): Promise<void>;
}

const tryAgainAfter: DurationMs = 1000;
/** Stopping processes that outlive the agent takes up to the grace of the order to stop. */
const partWithin: DurationMs = 60_000;

/**
 * Hears the reports of one holder in order, and acknowledges each one after it is saved. Ends with the exit of the
 * agent, with a newer monitor, or with the connection.
 */
export async function hearReports(line: HolderConnection, parts: HearingParts): Promise<"over" | "replaced" | "again"> {
  const waiting: HolderReport[] = [];
  let heardAt = performance.now();
  let ending: "over" | "replaced" | null = null;
  let carrying = false;
  let parting: NodeJS.Timeout | null = null;

  line.onMessage((message) => {
    heardAt = performance.now();
    if (message.say === "replaced") end("replaced");
    if (message.say !== "report") return;
    waiting.push(message.report);
    if (!carrying) void carry();
  });

  function end(how: "over" | "replaced"): void {
    ending ??= how;
    line.close();
  }

  /** The exit is told. The holder may still owe the answer to an order, so it is the holder that hangs up. */
  function partFrom(): void {
    ending ??= "over";
    parting = setTimeout(() => line.close(), partWithin);
  }

  async function carry(): Promise<void> {
    carrying = true;
    for (let report = waiting[0]; report !== undefined && ending === null; report = waiting[0]) {
      if (!(await tell(report))) continue;
      waiting.shift();
      line.say({ say: "heard", seq: report.seq });
      if (report.exit !== null) partFrom();
    }
    carrying = false;
  }

  async function tell(report: HolderReport): Promise<boolean> {
    try {
      await parts.save(report);
      return true;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      // The store is down: the report waits, here and at the holder.
      await new Promise((resolve) => setTimeout(resolve, tryAgainAfter));
      return false;
    }
  }

  /** A silent holder is probed: it may hang while its agent works or has ended. */
  const watch = setInterval(() => {
    if (performance.now() - heardAt < parts.silentFor) return;
    heardAt = performance.now();
    line.probe(5000).catch(() => parts.tellSilence().catch(() => {}));
  }, 2000);

  line.say({ say: "watch", epoch: parts.epoch, after: parts.lastReport });
  line.say({ say: "settings", settings: { ...parts.settings, patterns: [...parts.settings.patterns] } });
  await line.closed;
  clearInterval(watch);
  if (parting !== null) clearTimeout(parting);
  return ending ?? "again";
}
