import {
  type Checkpoint,
  type CheckpointHead,
  CheckpointRequest,
  canonicalJson,
  describeIssues,
  type EpochMs,
  Fault,
  type FaultCode,
  Id,
  printable,
  type RouseEvent,
  stateLimits,
  toIso,
  type WorkspaceSnapshot,
} from "@rouse/contract";
import type { GroupCommit } from "../engine/group-commit.ts";
import { boundLine, serializeByKey } from "../engine/serialize-by-key.ts";
import type { Moment } from "../engine/steady-clock.ts";
import { countAtDoublings } from "../orders/note-orders.ts";
import type { States } from "../ports/states.ts";
import type { SavedCheckpoint, SavedHead, Store } from "../ports/store.ts";
import { readHead, sealHead, sha256 } from "./check-checkpoints.ts";
import { boundCheckpoints, forgetStates, stateKey } from "./forget-states.ts";
import { recallCheckpoints, refuseName } from "./recall-checkpoints.ts";

export interface CheckpointParts {
  readonly store: Pick<Store, "readCheckpoints" | "findCheckpoint" | "refersToState" | "forgetOldStates">;
  readonly states: States;
  readonly commits: Pick<GroupCommit, "draft" | "saved" | "schedule" | "refuseWhileDown">;
  readonly readClock: () => Moment;
  readonly saveEvents: (events: readonly RouseEvent[], time: EpochMs, agentId: string | null) => void;
  /** Throws a `Fault` when the task is over or another agent's, or the life that speaks is over. */
  readonly admit: (taskId: string, speaker: CheckpointSpeaker) => void;
  /** Saves the working tree of an agent. `null`: its folder has none. Rejects with a `Fault` when that fails. */
  readonly takeSnapshot: (
    agentId: string,
    incarnation: number | null,
    key: string,
  ) => Promise<WorkspaceSnapshot | null>;
  /** The checkpoint that the task's record names as its newest; `null` when it names none. */
  readonly newestOf: (taskId: string) => string | null;
  /** Adds to the same commit what follows from the checkpoint. */
  readonly alsoInCommit: (checkpoint: Checkpoint, moment: Moment) => void;
}

export interface SavedAnswer {
  readonly checkpoint: Checkpoint;
  /** False: the same was saved before. */
  readonly isNew: boolean;
}

/** How many of the newest are compared with the one to save. */
const compared = 5;
/** How many of one task may wait until those before them are saved. */
const mostWaiting = 100;
/** Refusals that are events. */
const toldRefusals: ReadonlySet<FaultCode> = new Set<FaultCode>([
  "bad-request",
  "checkpoint-refused",
  "body-too-large",
]);

/** The chains of checkpoints: saves, shows and verifies them, and finds the one that a recovery begins with. */
export function keepCheckpoints(parts: CheckpointParts) {
  const { store, states, commits, readClock } = parts;
  const inTurn = serializeByKey();
  const inLine = boundLine(
    mostWaiting,
    (taskId) => `${mostWaiting} checkpoints of task ${taskId} wait to be saved; send it again in a moment`,
  );
  /** Checkpoints in a commit that has not succeeded yet. Commits are tried again, so they are part of the chain. */
  const awaited = new Map<string, SavedCheckpoint[]>();
  const countRefusals = countAtDoublings(1000);

  /** Saves one, after those of the same task that are being saved. Answers once it is on the disk. */
  async function save(taskId: string, sent: unknown, speaker: CheckpointSpeaker): Promise<SavedAnswer> {
    refuseName(taskId);
    try {
      return await inLine(taskId, async () => {
        const wanted = readCheckpoint(taskId, sent, speaker);
        return inTurn(`task ${taskId}`, () => append(wanted));
      });
    } catch (error) {
      if (error instanceof Fault && toldRefusals.has(error.code)) noteRefused(taskId, speaker.agentId, error.message);
      throw error;
    }
  }

  async function append(wanted: WantedCheckpoint): Promise<SavedAnswer> {
    commits.refuseWhileDown();
    parts.admit(wanted.taskId, wanted);
    const known = await readNewest(wanted.taskId);
    const twin = await findTwin(known, wanted);
    if (twin !== null) return repeat(twin, wanted);
    const parent = await findParent(known, wanted);
    const number = (known[0]?.number ?? 0) + 1;
    room.refuseTooMany(wanted.taskId, number);
    const link = () => commit(wanted, number, parent);
    return wanted.state.inFile ? inTurn(stateKey(wanted.state.hash), link) : link();
  }

  /** Newest first, with those that are not committed yet. */
  async function readNewest(taskId: string): Promise<readonly SavedHead[]> {
    const saved = await store.readCheckpoints(taskId, compared);
    const coming = (awaited.get(taskId) ?? []).filter(({ number }) => number > (saved[0]?.number ?? 0));
    if (coming.length === 0) awaited.delete(taskId);
    else awaited.set(taskId, coming);
    return [...coming.toReversed(), ...saved];
  }

  async function findParent(
    known: readonly SavedHead[],
    { taskId, step, parent }: WantedCheckpoint,
  ): Promise<string | null> {
    const [newest] = known;
    if (parent === undefined) {
      refuseStepBack(newest, step);
      return newest?.id ?? null;
    }
    if (parent === null || known.some(({ id }) => id === parent)) return parent;
    if ((await store.findCheckpoint(parent))?.taskId === taskId) return parent;
    const expected = newest === undefined ? "it has none yet" : `its newest is ${newest.id}`;
    throw new Fault(
      "checkpoint-refused",
      `parent ${parent} is no checkpoint of task ${taskId}, so the chain would have a hole: ${expected}`,
    );
  }

  /** First the state is saved, then what refers to it, then the answer is given. */
  async function commit(wanted: WantedCheckpoint, number: number, parent: string | null): Promise<SavedAnswer> {
    const { taskId, state } = wanted;
    const workspace = await takeWorkspace(wanted, number);
    if (state.inFile) await states.put(state.hash, state.text);
    commits.refuseWhileDown();
    parts.admit(taskId, wanted);
    const moment = readClock();
    const { step, stepName, agentId, incarnation } = wanted;
    const head: CheckpointHead = {
      ...{ taskId, number, step, stepName, agentId, incarnation, parent },
      stateHash: state.hash,
      stateBytes: state.bytes,
      workspace,
      time: toIso(moment.time),
    };
    const saved = sealHead(head, moment.time, state.inFile ? null : state.text);
    const checkpoint: Checkpoint = { ...head, id: saved.id };
    awaited.set(taskId, [...(awaited.get(taskId) ?? []), saved]);
    commits.draft().checkpoints.push(saved);
    const payload = { agentId, taskId, checkpoint: saved.id, step, stepName: printable(stepName, 200) };
    parts.saveEvents([{ type: "CHECKPOINT_SAVED", payload }], moment.time, agentId);
    parts.alsoInCommit(checkpoint, moment);
    await commits.saved();
    awaited.delete(taskId);
    room.makeRoom(taskId, number);
    return { checkpoint, isNew: true };
  }

  async function takeWorkspace(wanted: WantedCheckpoint, number: number): Promise<WorkspaceSnapshot | null> {
    const { workspace = false, agentId, incarnation, taskId } = wanted;
    if (typeof workspace !== "boolean") return workspace;
    if (!workspace) return null;
    if (agentId === null) throw new Fault("bad-request", "workspace: it takes an agentId to know whose");
    return parts.takeSnapshot(agentId, incarnation, `${taskId}/${number}/${readClock().time}`);
  }

  /** The same sent again after a lost answer: its commit may not be done, and a damaged file is written again. */
  async function repeat(twin: Checkpoint, { state }: WantedCheckpoint): Promise<SavedAnswer> {
    if (state.inFile) await inTurn(stateKey(state.hash), () => states.put(state.hash, state.text));
    const { taskId, id } = twin;
    if ((awaited.get(taskId) ?? []).some((saved) => saved.id === id)) await commits.saved();
    return { checkpoint: twin, isNew: false };
  }

  /** An undamaged checkpoint with the same content and parent: then there is nothing to save. */
  async function findTwin(known: readonly SavedHead[], wanted: WantedCheckpoint): Promise<Checkpoint | null> {
    for (const [place, saved] of known.entries()) {
      const { checkpoint, flaws } = readHead(saved);
      if (checkpoint === null || flaws.length > 0 || !isSame(checkpoint, wanted)) continue;
      const isPlaced = wanted.parent === undefined ? place === 0 : checkpoint.parent === wanted.parent;
      if (isPlaced && (await isWhole(checkpoint))) return checkpoint;
    }
    return null;
  }

  /** Whether the state in its row is right. A state in a file is written again anyway. */
  async function isWhole({ id, stateHash }: Checkpoint): Promise<boolean> {
    const saved = await store.findCheckpoint(id);
    if (saved === null || saved.state === null) return !saved?.stateForgotten;
    return sha256(saved.state) === stateHash;
  }

  function noteRefused(taskId: string, agentId: string | null, problem: string): void {
    if (!Id.safeParse(taskId).success || countRefusals(taskId) === null) return;
    const payload = { agentId, taskId, problem: printable(problem) };
    parts.saveEvents([{ type: "CHECKPOINT_REFUSED", payload }], readClock().time, agentId);
    commits.schedule();
  }

  /** A checkpoint that is not committed yet is named by its task already. */
  const newestOf = (taskId: string): string | null => (awaited.has(taskId) ? null : parts.newestOf(taskId));

  const isAwaited = (stateHash: string): boolean =>
    [...awaited.values()].flat().some((saved) => readHead(saved).checkpoint?.stateHash === stateHash);

  const forgetting = { states, store, isAwaited, inTurn };
  const room = boundCheckpoints(forgetting);

  return {
    ...recallCheckpoints({ store, states, newestOf }),
    save,
    /** Notes a request that was refused before it got here. */
    noteRefused,
    /** Removes some of the state files that nobody needs. True while there is more to do. */
    forget: forgetStates(forgetting),
  };
}

export type Checkpoints = ReturnType<typeof keepCheckpoints>;

/** To go back, `parent` must be named: otherwise an agent that lost its place would hide steps that are done. */
function refuseStepBack(newest: SavedHead | undefined, step: number): void {
  if (newest === undefined) return;
  const { checkpoint, flaws } = readHead(newest);
  if (checkpoint === null || flaws.length > 0 || step >= checkpoint.step) return;
  throw new Fault(
    "checkpoint-refused",
    `step ${step} comes before step ${checkpoint.step} of the newest checkpoint, ${newest.id}; to go back, name the checkpoint it goes on from as \`parent\` (null: it starts over)`,
  );
}

/** A request with a working tree is always a new checkpoint, because files may have changed since. */
const isSame = (checkpoint: Checkpoint, wanted: WantedCheckpoint): boolean =>
  checkpoint.step === wanted.step &&
  checkpoint.stepName === wanted.stepName &&
  checkpoint.stateHash === wanted.state.hash &&
  checkpoint.agentId === wanted.agentId &&
  checkpoint.incarnation === wanted.incarnation &&
  checkpoint.workspace === null &&
  (wanted.workspace === undefined || wanted.workspace === false);

/** Who saves, by the token of the request. */
export interface CheckpointSpeaker {
  readonly agentId: string | null;
  readonly incarnation: number | null;
}

/** A request to save a checkpoint, parsed. */
interface WantedCheckpoint extends CheckpointSpeaker {
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

function readCheckpoint(taskId: string, sent: unknown, speaker: CheckpointSpeaker): WantedCheckpoint {
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
