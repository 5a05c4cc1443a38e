import {
  type DurationMs,
  Fault,
  type MonoMs,
  type RouseEvent,
  type TaskRefusal,
  type TaskRequest,
} from "@rouse/contract";
import {
  type AgentRecord,
  agentOf,
  chooseTask,
  claimOf,
  type Fate,
  fateOfWork,
  isAtWork,
  isGoneForGood,
  isLifeOver,
  isTaskOver,
  isTaskReady,
  newAssignments,
  newTask,
  outcomeOf,
  type TaskContext,
  type TaskOrderSignal,
  type TaskRecord,
  type TaskReply,
  type TaskSignal,
  type TrustSignal,
  taskMachine,
  trustMachine,
  type WorkerReport,
} from "@rouse/core";
import type { AgentTurned } from "../agents/host-agents.ts";
import type { Host } from "../engine/engine.ts";
import { hostMachine } from "../engine/host-machine.ts";
import type { Moment } from "../engine/steady-clock.ts";
import type { Resumption, SavedMachine } from "../ports/store.ts";
import type { SharedServices } from "../shared-services.ts";
import { awaitTasks, type WantsClaim } from "./awaited-tasks.ts";
import { chooseTaskRules, countBlocked, KeptTask, retryTask } from "./kept-task.ts";
import { relateTasks } from "./relate-tasks.ts";
import { tellWorkers } from "./tell-workers.ts";

type TaskParts = Pick<SharedServices, "engine" | "roster" | "commits" | "doubt" | "config" | "toWall">;

/** So many take a few hundredths of a second. */
const forgivenAtOnce = 2000;

/** The tasks the monitor knows, and who has them. Everything is synchronous; the caller waits for the commit. */
export function hostTasks(parts: TaskParts) {
  const { engine, roster, commits, doubt } = parts;
  const tasks = new Map<string, KeptTask>();
  const relations = relateTasks();
  const trust = hostMachine({
    ...{ engine, commits, machine: trustMachine, begin: newAssignments, agentOf: (agentId) => agentId },
    contextOf: (now) => ({ now }),
  });
  const awaitingWork = new Set<KeptTask>();
  let gapForgiven = 0;
  let toForgive: KeptTask[] = [];
  const toRemind: string[] = [];
  const rulesFor = chooseTaskRules(parts);
  const find = (taskId: string): TaskRecord | undefined => tasks.get(taskId)?.record;
  const hooks = awaitTasks(roster, find, relations.dependentsOf, engine.post);
  const blocked = countBlocked(doubt, engine.post);
  const workers = tellWorkers(roster, find, relations.heldBy, engine.post);

  const { run, submit } = engine.host<KeptTask, TaskRecord, TaskSignal, TaskContext, TaskReply | null>({
    machine: taskMachine,
    find: (taskId) => tasks.get(taskId),
    contextOf({ record }, signal, { now }) {
      const rules = signal.kind === "claim" ? rulesFor(record, signal.agentId) : rulesFor(record);
      const othersBlocked = blocked.othersThan(record.taskId);
      const workedAt = workedOnAt(record);
      return { now, rules, doubt: { gaps: doubt.gaps(), frozen: doubt.frozen() !== null, othersBlocked }, workedAt };
    },
    keep({ kept, before, stepped, moment }) {
      for (const event of stepped.events) engine.saveEvents([event], moment.time, agentIn(event));
      if (kept.record !== before) save(kept);
    },
    after({ kept, before, context }) {
      const { record } = kept;
      if (record === before) return;
      listenFor(kept);
      relations.note(before, record);
      blocked.note(before, record);
      if (isTaskOver(record) && !isTaskOver(before)) saveAgain(record.dependsOn);
      tellTrust(before, record, context.rules);
      workers.noteTurn(before, record);
      hooks.noteTask(before, record);
    },
    hear(signal, moment) {
      const letter = signal as AgentTurned | WantsClaim;
      if (letter.kind === "agent-turned") noticeAgent(letter.before, letter.after, moment);
      else runClaim(letter.taskId, letter.agentId, moment, null, run);
    },
    wake(kept, moment) {
      run(kept, { kind: "wake" }, moment);
    },
  });

  /** Tells an agent's trust how its task ended. */
  function tellTrust(before: TaskRecord, after: TaskRecord, { highErrorRate, mode }: TaskContext["rules"]): void {
    const ended = outcomeOf(before, after);
    if (ended === null) return;
    const signal: TrustSignal = { kind: "task-ended", outcome: ended.outcome, rules: { highErrorRate, mode } };
    engine.post(trustMachine.name, ended.agentId, signal);
  }

  /** A task that is claimed or stalled hears of its agent's work at every tick; others when their own clock is due. */
  function listenFor(kept: KeptTask): void {
    const { state } = kept.record;
    const listens = isAtWork(state) && (state.status === "claimed" || state.stalled !== null);
    if (listens) awaitingWork.add(kept);
    else awaitingWork.delete(kept);
  }

  const save = (kept: KeptTask): void => commits.saveMachine(taskMachine.name, kept.id, () => toSave(kept));

  /** A task that is over must not be forgotten while others wait for it, or they would never be ready. */
  function toSave(kept: KeptTask): Pick<SavedMachine, "record" | "overAt"> {
    const { taskId, state } = kept.record;
    const overAt = "overAt" in state && !isWaitedFor(taskId) ? parts.toWall(state.overAt) : null;
    kept.ages = overAt !== null;
    return { record: JSON.stringify(kept.record), overAt };
  }

  /** A task that failed or was cancelled waits as well: it may be tried again. */
  const isWaitedFor = (taskId: string): boolean => relations.dependentsOf(taskId).some((id) => !isCompleted(id));

  /** Saves those that are over again, because who waits for them has changed. */
  function saveAgain(taskIds: readonly string[]): void {
    for (const taskId of taskIds) {
      const kept = tasks.get(taskId);
      if (kept !== undefined && isTaskOver(kept.record)) save(kept);
    }
  }

  function mustFind(taskId: string): KeptTask {
    const kept = tasks.get(taskId);
    if (kept === undefined) throw new Fault("task-unknown", "no such task; `rouse tasks` lists those that are known");
    return kept;
  }

  function add(task: TaskRecord, ages = false): KeptTask {
    const kept = new KeptTask(task, ages);
    tasks.set(task.taskId, kept);
    relations.add(task);
    listenFor(kept);
    return kept;
  }

  const isCompleted = (taskId: string): boolean => tasks.get(taskId)?.record.state.status === "completed";

  /** An agent that Rouse has never heard of is not known to be gone. */
  function isGone(agentId: string | null): boolean {
    const record = agentId === null ? undefined : roster.find(agentId)?.record;
    return record !== undefined && isGoneForGood(record);
  }

  /** `life`: the incarnation that asks, where its token says so. */
  function runClaim(
    taskId: string,
    agentId: string,
    moment: Moment,
    life: number | null,
    step: Host<KeptTask, TaskSignal, TaskReply | null>["run"],
  ): TaskReply {
    const kept = mustFind(taskId);
    const record = roster.find(agentId)?.record;
    if (record !== undefined && isLifeOver(record, life)) return refusal("agent-over");
    if (record?.health.state === "QUARANTINED" && agentOf(kept.record) !== agentId) return refusal("quarantined");
    const heldClaims = relations.heldBy(agentId).filter((id) => id !== taskId).length;
    const standing = trust.find(agentId)?.standing ?? "normal";
    const ready = isTaskReady(kept.record, isCompleted);
    const incarnation = life ?? record?.life.incarnation ?? null;
    return step(kept, { kind: "claim", agentId, incarnation, standing, heldClaims, ready }, moment) ?? refusal("taken");
  }

  const claim = (taskId: string, agentId: string, moment: Moment, life: number | null = null): TaskReply =>
    runClaim(taskId, agentId, moment, life, submit);

  /** A task that the agent was given and has not begun comes first: the answer may have been lost. */
  function chooseFor(agentId: string): string | null {
    const given = relations.heldBy(agentId).find((id) => tasks.get(id)?.record.state.status === "claimed");
    return given ?? chooseTask(records(), agentId)?.taskId ?? null;
  }

  function* records(): Iterable<TaskRecord> {
    for (const { record } of tasks.values()) yield record;
  }

  function meetFate(kept: KeptTask, fate: Fate, record: AgentRecord, moment: Moment): void {
    const { agentId } = record;
    if (fate.kind === "recovered") {
      run(kept, { kind: "agent-recovered", agentId, incarnation: fate.incarnation }, moment);
    } else if (fate.kind !== "completed") {
      const { kind, because } = fate;
      const afterLimit = kind === "recovering" && fate.afterLimit;
      run(kept, { kind: "agent-down", agentId, because, fate: kind, afterLimit }, moment);
    } else {
      // Ending does not complete a task that the agent called blocked, nor one that it took from a queue.
      const isNamed = kept.id === record.task.id && !record.task.claimed;
      const isOwn = isNamed && isAtWork(kept.record.state) && agentOf(kept.record) === agentId;
      if (isOwn) run(kept, { kind: "complete", agentId }, moment);
      else run(kept, { kind: "agent-down", agentId, because: "agent-finished", fate: "released" }, moment);
    }
  }

  /**
   * When the agent last got further with the task that it is known to work on: progress counts as of when it was made.
   * What it achieved before it came to this task was achieved for another.
   */
  function workedOnAt(task: TaskRecord): MonoMs | null {
    const held = claimOf(task);
    const record = held === null ? undefined : roster.find(held.agentId)?.record;
    if (record === undefined || record.task.id !== task.taskId) return null;
    const at = record.seen.facts.progress?.at ?? null;
    return at === null || at < (record.task.assignedAt ?? at) ? null : at;
  }

  function hearAgent(kept: KeptTask, moment: Moment): void {
    if ((workedOnAt(kept.record) ?? 0) > kept.record.updatedAt) run(kept, { kind: "wake" }, moment);
  }

  /**
   * After a turn of an agent its tasks are kept for it, given back or completed, and a task it names may be claimed.
   */
  function noticeAgent(before: AgentRecord, after: AgentRecord, moment: Moment): void {
    hooks.noteTurn(before, after);
    if (after.life.heard && !before.life.heard) workers.remindOfClaim(after.agentId);
    const fate = fateOfWork(before, after);
    if (fate === null) return;
    const { agentId } = after;
    const { id: taskId } = after.task;
    const own = new Set([...relations.heldBy(agentId), ...relations.meantFor(agentId)]);
    // A blocked task is no longer held by anybody; the record of the agent still names it.
    if (taskId !== null && "because" in fate && fate.because === "recovered-by-person") own.add(taskId);
    for (const id of own) {
      const kept = tasks.get(id);
      if (kept !== undefined) meetFate(kept, fate, after, moment);
    }
    if (fate.kind === "recovered") workers.tellOfLoss(after);
  }

  /** Gaps are known only while the monitor runs, so each task saves what they cost it: some at a time. */
  function forgiveBlindness(moment: Moment): void {
    const gap = doubt.lastGap()?.id ?? gapForgiven;
    if (gap !== gapForgiven) toForgive = [...tasks.values()].filter(({ record }) => claimOf(record) !== null);
    gapForgiven = gap;
    for (const kept of toForgive.splice(0, forgivenAtOnce)) run(kept, { kind: "wake" }, moment);
  }

  return {
    /** The agents are restored before. */
    restore({ machines }: Pick<Resumption, "machines">): void {
      for (const { machine, record, overAt } of machines)
        if (machine === taskMachine.name) engine.file(add(taskMachine.restore(record), overAt !== null));
      hooks.restore();
      trust.restore(machines);
      for (const { record } of tasks.values()) blocked.note(null, record);
      // An earlier version did not tell agents of their claims.
      for (const { record } of roster.all()) if (record.task.id === null) toRemind.push(record.agentId);
    },

    heldBy: relations.heldBy,

    /** An agent was removed: its trust goes with it. */
    forgetAgent(agentId: string, { time }: Moment): void {
      const alert = trust.forget(agentId)?.alert ?? null;
      if (alert === null) return;
      engine.saveEvents([{ type: "ALERT_RESOLVED", payload: { agentId, alert } }], time, agentId);
      engine.intend({ kind: "resolve-alert", key: `${alert}/resolved`, agentId }, time);
    },

    create(request: TaskRequest, moment: Moment): TaskReply {
      if (tasks.has(request.taskId)) return refusal("exists");
      const kept = add(newTask(request, moment.now));
      const reply = submit(kept, { kind: "created" }, moment) ?? refusal("exists");
      saveAgain(request.dependsOn);
      return reply;
    },

    /** Begins a task anew that failed or was cancelled. */
    retry(taskId: string, actor: string, moment: Moment): TaskReply {
      const kept = mustFind(taskId);
      const retried = retryTask(kept.record, actor, moment.now);
      if (retried === null) return refusal(isTaskOver(kept.record) ? "over" : "exists");
      const before = kept.record;
      kept.record = retried.task;
      engine.saveEvents([retried.event], moment.time, agentIn(retried.event));
      save(kept);
      saveAgain(kept.record.dependsOn);
      hooks.noteTask(before, kept.record);
      engine.deliver(moment);
      return { kind: "granted", claim: null };
    },

    claim,

    /** The most urgent one that is ready; `null` when there is none. */
    claimNext(agentId: string, moment: Moment, life: number | null = null) {
      const taskId = chooseFor(agentId);
      return taskId === null ? null : { taskId, reply: claim(taskId, agentId, moment, life) };
    },

    takeReport: (taskId: string, report: WorkerReport, moment: Moment): TaskReply =>
      submit(mustFind(taskId), report, moment) ?? refusal("not-yours"),

    order(taskId: string, order: TaskOrderSignal, moment: Moment): TaskReply {
      const kept = mustFind(taskId);
      if (order.kind === "reassign" && !isTaskOver(kept.record) && isGone(order.to)) return refusal("agent-over");
      return submit(kept, order, moment) ?? refusal("over");
    },

    noteCheckpoint(taskId: string, checkpoint: string, agentId: string | null, moment: Moment): void {
      const kept = tasks.get(taskId);
      if (kept !== undefined) submit(kept, { kind: "checkpointed", checkpoint, agentId }, moment);
    },

    restoreAssignments(agentId: string, actor: string, moment: Moment): void {
      if (trust.find(agentId) !== null) trust.submit(agentId, { kind: "given-back", actor }, moment);
    },

    judgeDue(moment: Moment): void {
      for (const agentId of toRemind.splice(0)) workers.remindOfClaim(agentId);
      forgiveBlindness(moment);
      for (const kept of awaitingWork) hearAgent(kept, moment);
      engine.deliver(moment);
      blocked.wakeConcerned();
      engine.deliver(moment);
    },
    /** After a thaw or with other settings every clock may have changed. */
    wakeAll(moment: Moment): void {
      for (const kept of tasks.values()) if (!isTaskOver(kept.record)) run(kept, { kind: "wake" }, moment);
      engine.deliver(moment);
    },

    find,
    mustFind: (taskId: string): TaskRecord => mustFind(taskId).record,
    isWorkOf: workers.isWorkOf,
    all: (): TaskRecord[] => [...records()],
    statusSince: (taskId: string): MonoMs => mustFind(taskId).record.changedAt,
    isCompleted,
    dependentsOf: relations.dependentsOf,
    rulesFor,
    standingOf: trust.find,
    /** Forgets tasks that have been over for longer than the history is kept, as the store does. */
    forgetOld({ now }: Moment, history: DurationMs): void {
      // The newest go first: a task that waits for another is newer than that one.
      for (const kept of [...tasks.values()].reverse()) {
        const { record: task } = kept;
        if (!("overAt" in task.state) || now - task.state.overAt <= history || isWaitedFor(task.taskId)) continue;
        tasks.delete(task.taskId);
        relations.forget(task);
        if (!kept.ages) save(kept);
      }
    },
  };
}

export type Tasks = ReturnType<typeof hostTasks>;

const refusal = (because: TaskRefusal): TaskReply => ({ kind: "refused", because });

const agentIn = ({ payload }: RouseEvent): string | null =>
  "agentId" in payload && typeof payload.agentId === "string" ? payload.agentId : null;
