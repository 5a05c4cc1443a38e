import type { OnTimeout, RouseEvent, TaskPriority, TaskReason, TaskStatus } from "@rouse/contract";

/** One agent's hold on a task. */
export interface ClaimTruth {
  readonly number: number;
  readonly agentId: string;
  readonly since: number;
}

/** What a task is, from whoever made it. */
export interface TaskDefinition {
  readonly priority: TaskPriority;
  readonly dependsOn: readonly string[];
  /** `null`: none. */
  readonly timeout: number | null;
  readonly onTimeout: OnTimeout;
}

/** How a task stands by the events that were saved: one value for each change. */
export interface TaskTruth extends TaskDefinition {
  readonly taskId: string;
  readonly createdAt: number;
  readonly status: TaskStatus;
  readonly because: TaskReason;
  readonly claim: ClaimTruth | null;
  /** How many claims were ever given. */
  readonly claims: number;
  /** Whose the last claim was, or for whom the task is kept while that agent is brought back. */
  readonly lastHolder: string | null;
  readonly reservedFor: string | null;
}

type Payload<T extends RouseEvent["type"]> = Extract<RouseEvent, { type: T }>["payload"];
export type TaskChanged = Payload<"TASK_CHANGED">;

interface Parts {
  readonly now: () => number;
  readonly violated: (text: string) => void;
  /** What was asked for when the task was made; `undefined` when nobody did. */
  readonly definitionOf: (taskId: string) => TaskDefinition | undefined;
  /** For whom a person last meant it. */
  readonly meantFor: (taskId: string) => string | null;
  readonly claimed: (before: TaskTruth, agentId: string) => void;
  readonly changed: (before: TaskTruth, after: TaskTruth, change: TaskChanged) => void;
}

const whileHeld: readonly TaskStatus[] = ["completed", "failed", "blocked", "pending", "recovering", "cancelled"];

/** The table of states in docs/tasks.md. From itself: another claim, another reservation, or another reason. */
const goesTo: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
  pending: ["pending", "claimed", "blocked", "recovering", "cancelled"],
  claimed: ["claimed", "running", ...whileHeld],
  running: ["claimed", ...whileHeld],
  recovering: ["running", "pending", "blocked", "cancelled"],
  blocked: ["running", ...whileHeld],
  completed: [],
  failed: ["pending"],
  cancelled: ["pending"],
};

const withoutClaim: ReadonlySet<TaskStatus> = new Set<TaskStatus>([
  "pending",
  "recovering",
  "completed",
  "failed",
  "cancelled",
]);

/**
 * Follows every task through the events that were saved, and holds each change against the one before: a task is one agent's at a time, numbers of
 * claims only grow, nothing is handed out before what it depends on is completed, and what is completed stays so.
 */
export function followTasks({ now, violated, definitionOf, meantFor, claimed, changed }: Parts) {
  const tasks = new Map<string, TaskTruth>();
  /** Every state that a task went through since the last call of `forgetStates`. */
  const states = new Map<string, TaskTruth[]>();

  function put(task: TaskTruth): void {
    const passed = states.get(task.taskId);
    if (passed === undefined) states.set(task.taskId, [task]);
    else passed.push(task);
    tasks.set(task.taskId, task);
  }

  function find(taskId: string, event: string): TaskTruth | undefined {
    const task = tasks.get(taskId);
    if (task === undefined) violated(`${event} of ${taskId}, which was never created`);
    return task;
  }

  const isCompleted = (taskId: string): boolean => tasks.get(taskId)?.status === "completed";
  const isReady = ({ dependsOn }: TaskTruth): boolean => dependsOn.every(isCompleted);

  function create({ taskId }: Payload<"TASK_CREATED">): void {
    const definition = definitionOf(taskId);
    if (definition === undefined) return violated(`${taskId} was created, and nobody asked for it`);
    if (tasks.has(taskId)) return violated(`${taskId} was created twice`);
    const nobodys = { claim: null, claims: 0, lastHolder: null, reservedFor: null } as const;
    put({ taskId, ...definition, createdAt: now(), status: "pending", because: "created", ...nobodys });
    if (waitsForItself(taskId)) violated(`${taskId} was created and waits for itself`);
  }

  function waitsForItself(taskId: string): boolean {
    const seen = new Set<string>();
    const open = [...(tasks.get(taskId)?.dependsOn ?? [])];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (at === taskId) return true;
      if (seen.has(at)) continue;
      seen.add(at);
      open.push(...(tasks.get(at)?.dependsOn ?? []));
    }
    return false;
  }

  function giveClaim({ taskId, agentId, claim: number }: Payload<"TASK_CLAIMED">): void {
    const task = find(taskId, "a claim");
    if (task === undefined) return;
    const { claim, claims, status, reservedFor, lastHolder } = task;
    if (claim !== null)
      violated(`${taskId} was given to ${agentId} while ${claim.agentId} holds it by claim ${claim.number}`);
    if (number !== claims + 1) violated(`claim ${number} of ${taskId} follows claim ${claims}`);
    // Whoever is brought back, or asks with a later life, goes on with what it has.
    if (status !== "pending" && lastHolder !== agentId)
      violated(`${taskId} was given to ${agentId} while it is ${status}`);
    if (status === "pending" && !isReady(task))
      violated(`${taskId} was given to ${agentId} before ${openOf(task)} is completed`);
    if (status === "pending" && reservedFor !== null && reservedFor !== agentId)
      violated(`${taskId} was given to ${agentId} while it is meant for ${reservedFor}`);
    claimed(task, agentId);
    const given = { number, agentId, since: now() };
    put({ ...task, claim: given, claims: number, lastHolder: agentId, reservedFor: null });
  }

  const openOf = ({ dependsOn }: TaskTruth): string => dependsOn.filter((id) => !isCompleted(id)).join(", ");

  function release({ taskId, agentId, claim: number }: Payload<"TASK_RELEASED">): void {
    const task = find(taskId, "a release");
    if (task === undefined) return;
    if (task.claim?.number !== number || task.claim.agentId !== agentId)
      violated(`claim ${number} of ${agentId} on ${taskId} was released, and it is ${describeClaim(task.claim)}`);
    put({ ...task, claim: null });
  }

  function change(payload: TaskChanged): void {
    const { taskId, from, to, because, agentId } = payload;
    const before = find(taskId, "a change");
    if (before === undefined) return;
    if (from !== before.status) violated(`${taskId} went from ${from} to ${to}, and was ${before.status}`);
    if (!goesTo[from].includes(to)) violated(`${taskId} went from ${from} to ${to}`);
    const isOver = from === "failed" || from === "cancelled";
    const meant = because === "reassigned-by-person" ? (isOver ? null : meantFor(taskId)) : before.reservedFor;
    // A reservation that its agent cannot keep is given up; a claim that is given at the same time was told before.
    const isDropped = from === "pending" && to === "pending" && because !== "reassigned-by-person";
    const after: TaskTruth = {
      ...before,
      status: to,
      because,
      claim: withoutClaim.has(to) ? null : before.claim,
      lastHolder: to === "recovering" ? agentId : before.lastHolder,
      reservedFor: isDropped ? null : meant,
      createdAt: isOver ? now() : before.createdAt,
    };
    if ((to === "claimed" || to === "running") && after.claim === null) violated(`${taskId} is ${to}, and nobody's`);
    put(after);
    changed(before, after, payload);
  }

  /** Tasks that are over are forgotten with the history, but not while one that is open, or may be tried again, depends on them. */
  function forget({ taskId, status }: TaskTruth): void {
    if (status !== "completed" && status !== "failed" && status !== "cancelled")
      return violated(`${taskId} is forgotten while it is ${status}`);
    tasks.delete(taskId);
    const waiting = [...tasks.values()].find((task) => task.status !== "completed" && task.dependsOn.includes(taskId));
    if (waiting !== undefined)
      violated(`${taskId} is forgotten, and ${waiting.taskId} depends on it (${waiting.status})`);
  }

  return {
    forget,
    tasks: tasks as ReadonlyMap<string, TaskTruth>,
    isReady,
    /** How it stood, one after the other, since the last time that `forgetStates` was called, and how it stands now. */
    statesOf: (taskId: string): readonly TaskTruth[] => states.get(taskId) ?? [],
    forgetStates: (): void => states.clear(),
    note({ type, payload }: RouseEvent): void {
      if (type === "TASK_CREATED") create(payload);
      if (type === "TASK_RELEASED") release(payload);
      if (type === "TASK_CLAIMED") giveClaim(payload);
      if (type === "TASK_CHANGED") change(payload);
    },
  };
}

export type TaskFollower = ReturnType<typeof followTasks>;

export const describeClaim = (claim: Pick<ClaimTruth, "number" | "agentId"> | null): string =>
  claim === null ? "nobody's" : `${claim.agentId}'s by claim ${claim.number}`;

export const isAtWork = ({ status }: Pick<TaskTruth, "status">): boolean =>
  status === "claimed" || status === "running";
