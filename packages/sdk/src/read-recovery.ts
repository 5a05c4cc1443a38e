import { RecoveryContext } from "@rouse/contract";
import { parseOrNull } from "./call-api.ts";

/**
 * What Rouse told an agent that it brought back, read from the agent's environment: where to go on, why, and what was
 * lost. `null` when it was not brought back. Fields that only a newer Rouse knows are left out. Apart from the other
 * calls, because it loads zod.
 */
export function readRecovery(environment: Readonly<Record<string, string | undefined>>): RecoveryContext | null {
  const told = parseOrNull(environment["ROUSE_RECOVERY"] ?? "");
  if (typeof told !== "object" || told === null) return null;
  return RecoveryContext.safeParse({ taskId: null, stateFile: null, workspace: null, ...told }).data ?? null;
}
