import { readFileSync } from "node:fs";
import type { MonitorId } from "./admit-monitors.ts";
import { storeFile } from "./holder-files.ts";

/** The monitor that came last; `null` when none ever did, or what it left is not (yet) whole. */
export function readStore(home: string): MonitorId | null {
  try {
    const { store, epoch } = JSON.parse(readFileSync(storeFile(home), "utf8")) as Partial<MonitorId>;
    return typeof store === "string" && Number.isSafeInteger(epoch) ? { store, epoch: Number(epoch) } : null;
  } catch {
    return null;
  }
}
