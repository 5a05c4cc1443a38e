import { CheckpointRequest, canonicalJson, describeIssues, Fault, printable, stateLimits } from "@rouse/contract";
import { sha256 } from "./check-checkpoints.ts";

/** Who saves, by the token of the request. */
export interface CheckpointSpeaker {
  readonly agentId: string | null;
  readonly incarnation: number | null;
}

/** A request to save a checkpoint, parsed. */
export interface WantedCheckpoint extends CheckpointSpeaker {
  readonly taskId: string;
  readonly step: number;
  readonly stepName: string;
  /** `undefined`: the newest. */
  readonly parent: string | null | undefined;
  readonly workspace: CheckpointRequest["workspace"];
  readonly state: { readonly text: string; readonly hash: string; readonly bytes: number; readonly inFile: boolean };
}

/** Larger states go into files: they would slow down every read of a chain. */
const mostInline = 64 * 1024;

export function readCheckpoint(taskId: string, sent: unknown, speaker: CheckpointSpeaker): WantedCheckpoint {
  const parsed = CheckpointRequest.safeParse(sent);
  if (!parsed.success)
    throw new Fault("bad-request", printable(describeIssues(parsed.error.issues, "a checkpoint is a JSON object")));
  const { step, stepName, state, parent, agentId = null, workspace } = parsed.data;
  const { text, bytes } = writeState(state);
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

function writeState(state: unknown): { text: string; bytes: number } {
  try {
    const text = canonicalJson(state, stateLimits);
    const bytes = Buffer.byteLength(text);
    if (bytes > stateLimits.bytes) throw new Fault("body-too-large", `it has ${bytes} bytes`);
    return { text, bytes };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const most = `${stateLimits.bytes / 1024 / 1024} MiB and ${stateLimits.values} values`;
    throw error.code === "body-too-large"
      ? new Fault(error.code, `a state has at most ${most}, and ${error.message}; ${advice}`)
      : new Fault(error.code, `the state cannot be kept: ${error.message}`);
  }
}

const advice = "keep large data in the workspace, and in the state only what refers to it";
