import { type HolderFile, type MonitorId, whyRefused } from "@rouse/holder";
import { connectHolder } from "./connect-holder.ts";
import { doorOf } from "./read-holder-files.ts";

/** `earlier-version`: the holder knows no stores, and cannot be handed over. */
export type Adoption = "adopted" | "ours-already" | "earlier-version";

/** Hands an agent over to the store of `ours`. Everybody who can read the holder's secret may do that. */
export async function adoptAgent(home: string, file: HolderFile, ours: MonitorId): Promise<Adoption> {
  if (file.store === undefined) return "earlier-version";
  const line = await connectHolder(doorOf(home, file), { timeoutMs: 5000 });
  try {
    const { store = null, epoch = null } = await line.probe();
    if (whyRefused({ store, epoch }, ours) === null) return "ours-already";
    await line.adopt(ours.store);
    return "adopted";
  } finally {
    line.close();
  }
}
