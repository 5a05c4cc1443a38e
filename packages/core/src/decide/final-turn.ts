import type { EndingReason } from "@rouse/contract";
import type { AgentRecord } from "../record.ts";

/** Ends that the owner set, by the program's own names. */
const caps: ReadonlySet<string> = new Set(["error_max_turns", "error_max_budget_usd"]);
const accountTroubles =
  /^(?:authentication_failed|oauth_org_not_allowed|billing_error|account_on_hold|verification_required)$| 40[123]$/;

/** Why its next life would end as this one did: its last turn failed for what only a person can change. `null`: it need not. */
export function finalTurn({ seen: { terminal } }: AgentRecord): EndingReason | null {
  const failed = terminal?.failedTurn ?? null;
  if (failed === null || terminal?.exit?.cause !== "by-itself") return null;
  if (caps.has(failed)) return "at-its-cap";
  return accountTroubles.test(failed) ? "refused-by-provider" : null;
}
