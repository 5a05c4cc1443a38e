import { gravity } from "../assess/look.ts";
import type { Doubt } from "../doubt.ts";
import type { AgentRecord } from "../record.ts";

/**
 * All that makes it ill is its silence, and it fell silent together with many: somebody is told and asked about all of them at once. A warning from before
 * its silence became an illness is no matter of its own.
 */
export function isMatterOfFleet({ health: { findings } }: AgentRecord, { silentWith }: Doubt): boolean {
  if (silentWith === null) return false;
  const silence = findings.find(({ kind }) => kind === "missed-beats");
  const isIllness = silence !== undefined && gravity[silence.level] > gravity.degraded;
  const less = isIllness ? gravity.stuck : gravity.degraded;
  return findings.every((finding) => finding === silence || gravity[finding.level] < less);
}

/** It ended together with many, or may have: until that is known, and from then on, nobody is told of its end alone. */
export const endedWithOthers = ({ health: { findings } }: AgentRecord): boolean =>
  findings.some(({ kind, restrainedBy }) => kind === "process-exited" && restrainedBy !== undefined);
