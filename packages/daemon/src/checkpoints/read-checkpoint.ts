import { CheckpointRequest, describeIssues, Fault, printable, stateLimits } from "@rouse/contract";
import { sha256 } from "./checkpoint-head.ts";
import { writeCanonically } from "./write-canonically.ts";

/** Who saves, as far as their token says it. */
export interface CheckpointSpeaker {
  readonly agentId: string | null;
  readonly incarnation: number | null;
}

/** What somebody wants saved, checked. */
export interface WantedCheckpoint extends CheckpointSpeaker {
  readonly taskId: string;
  readonly step: number;
  readonly stepName: string;
  /** `undefined`: whatever is the newest. */
  readonly parent: string | null | undefined;
  readonly workspace: CheckpointRequest["workspace"];
  readonly state: { readonly text: string; readonly hash: string; readonly bytes: number; readonly inFile: boolean };
}

/** Larger states would make every look at a chain slow; they go into files. */
const mostInline = 64 * 1024;

/** The edge: after it, nothing is unchecked. */
export function readCheckpoint(taskId: string, sent: unknown, speaker: CheckpointSpeaker): WantedCheckpoint {
  const parsed = CheckpointRequest.safeParse(sent);
  if (!parsed.success)
    throw new Fault("bad-request", printable(describeIssues(parsed.error.issues, "a checkpoint is a JSON object")));
  const { step, stepName, state, parent, agentId = null, workspace } = parsed.data;
  const text = writeCanonically(state, stateLimits);
  const bytes = Buffer.byteLength(text);
  return {
    taskId,
    step,
    stepName,
    parent,
    workspace,
    agentId: speaker.agentId ?? agentId,
    incarnation: speaker.incarnation,
    state: { text, hash: sha256(text), bytes, inFile: bytes > mostInline },
  };
}
