import type { ActivityReport } from "@rouse/contract";

/** "RUNNING tool npm-test", "WAITING for provider", "IDLE". */
export function describeActivity({ kind, open, for: what }: ActivityReport): string {
  if (open !== undefined) return `${kind} ${open.kind}${open.name === undefined ? "" : ` ${open.name}`}`;
  return what === undefined ? kind : `${kind} for ${what}`;
}
