import type { LostWork, RecoveryContext, WorkspaceSnapshot } from "@rouse/contract";
import { parseOrNull } from "./send.ts";

/**
 * What Rouse told an agent that it brought back, read from the agent's environment: where to go on, why, and what was
 * lost. `null` when it was not brought back. Fields that only a newer Rouse knows are left out.
 */
export function readRecovery(environment: Readonly<Record<string, string | undefined>>): RecoveryContext | null {
  return asRecovery(parseOrNull(environment["ROUSE_RECOVERY"] ?? ""));
}

/** Without zod: an agent's own program should not have to load it. */
export function asRecovery(told: unknown): RecoveryContext | null {
  if (!isObject(told)) return null;
  const { reason, attempt, lost } = told;
  const texts = { taskId: null, checkpoint: null, stepName: null, stateFile: null, ...told };
  const { taskId, checkpoint, stepName, stateFile } = texts;
  const { step = null, workspace = null } = told;
  const isRead =
    [taskId, checkpoint, stepName, stateFile].every((text) => text === null || typeof text === "string") &&
    (step === null || Number.isInteger(step)) &&
    typeof reason === "string" &&
    Number.isInteger(attempt) &&
    isLost(lost) &&
    (workspace === null || isSnapshot(workspace));
  if (!isRead) return null;
  const known = {
    lost: pick(lost as LostWork, lostFields),
    workspace: workspace && pick(workspace, ["commit", "folder", "ref"]),
  };
  return { taskId, checkpoint, step, stepName, reason, attempt, stateFile, ...known } as RecoveryContext;
}

const lostFields = ["checkpoints", "steps", "flaws", "startsOver", "olderUnread", "conversation"] as const;

const pick = (from: object, names: readonly string[]): object =>
  Object.fromEntries(Object.entries(from).filter(([name, value]) => names.includes(name) && value !== undefined));

const isLost = (lost: unknown): lost is LostWork =>
  isObject(lost) &&
  Number.isInteger(lost["checkpoints"]) &&
  (lost["steps"] === null || Number.isInteger(lost["steps"])) &&
  Array.isArray(lost["flaws"]) &&
  typeof lost["startsOver"] === "boolean";

const isSnapshot = (workspace: unknown): workspace is WorkspaceSnapshot =>
  isObject(workspace) && typeof workspace["commit"] === "string" && typeof workspace["folder"] === "string";

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
