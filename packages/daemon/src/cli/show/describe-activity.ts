import type { ActivityReport } from "@rouse/contract";
import { stamp } from "./tell-time.ts";

/** "RUNNING tool npm-test", "WAITING for provider", "IDLE". A wait that only words speak of is told as what it is. */
export function describeActivity({ kind, open, for: what, by, until }: ActivityReport): string {
  if (open !== undefined) return `${kind} ${open.kind}${open.name === undefined ? "" : ` ${open.name}`}`;
  if (by === "text") return `says it waits for its provider${until === undefined ? "" : ` until ${stamp(until)}`}`;
  return what === undefined ? kind : `${kind} for ${what}`;
}
