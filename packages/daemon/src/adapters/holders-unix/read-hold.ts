import type { HolderInfo } from "@rouse/contract";
import { type HolderFile, inputOf, wishesOf } from "@rouse/holder";
import { readSpec } from "../../holders/read-holder-files.ts";

/** Who is held, from what is written down: for a holder that is gone or does not speak to us. `null` when it speaks of another life. */
export function readHold(home: string, file: HolderFile): HolderInfo | null {
  const spec = readSpec(home, file.agentId);
  if (spec === null || spec.incarnation !== file.incarnation) return null;
  const { agentId, agentType, taskId, policy, incarnation, family, structured, foreground } = spec;
  return {
    agentId,
    agentType,
    taskId,
    policy,
    incarnation,
    family,
    structured,
    foreground,
    input: inputOf(spec),
    ...wishesOf(spec),
    pid: file.agent?.pid ?? file.holder.pid,
    startedAt: file.startedAt,
  };
}
