import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type DurationMs, hours } from "@rouse/contract";

/** No snapshot takes that long: whoever made it was killed. */
const abandonedAfter: DurationMs = hours(2);

/** Removes the folders that snapshots left behind whose process was killed. */
export async function sweepAbandoned(place: string, prefix: string): Promise<void> {
  const entries = await readdir(place, { withFileTypes: true });
  for (const entry of entries.filter((one) => one.isDirectory() && one.name.startsWith(prefix))) {
    const folder = join(place, entry.name);
    const found = await stat(folder).catch(() => null);
    if (found === null || found.uid !== process.getuid?.() || Date.now() - found.mtimeMs < abandonedAfter) continue;
    await rm(folder, { recursive: true, force: true }).catch(() => {});
  }
}
