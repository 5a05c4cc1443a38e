import { gravity } from "../assess/look.ts";
import type { Doubt } from "../doubt.ts";
import type { AgentRecord } from "../record.ts";

/** All that is the matter with it is its silence, and it fell silent together with many: somebody is told and asked about all of them at once. */
export const isMatterOfFleet = ({ findings }: AgentRecord, { partOf }: Doubt): boolean =>
  partOf !== null && findings.every(({ kind, level }) => kind === "missed-beats" || gravity[level] < gravity.degraded);
