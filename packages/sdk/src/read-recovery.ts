import { RecoveryContext } from "@rouse/contract";

/**
 * What Rouse told an agent that it brought back, out of the environment it was started with: where to go on, why, and what was lost. `null` when it
 * was not brought back. What a newer Rouse says beyond this is left out.
 */
export function readRecovery(environment: Readonly<Record<string, string | undefined>>): RecoveryContext | null {
  const told = parse(environment["ROUSE_RECOVERY"] ?? "");
  if (typeof told !== "object" || told === null) return null;
  return RecoveryContext.safeParse({ taskId: null, stateFile: null, workspace: null, ...told }).data ?? null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
