import {
  type DurationMs,
  type EpochMs,
  Fault,
  type MonoMs,
  type RouseEvent,
  type TaskRefusal,
  type TaskRequest,
} from "@rouse/contract";
import {
  type Action,
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
  newTask,
  superviseTask,
  type TaskOrderSignal,
  type TaskRecord,
  type TaskReply,
  type TaskSignal,
  type WordSignal,
} from "@rouse/core";
import type { Config } from "../config/read-config.ts";
import type { Resumption, SavedTask } from "../ports/store.ts";
import { chooseTaskRules } from "./choose-task-rules.ts";
import { countBlocked } from "./count-blocked.ts";
import type { GroupCommit } from "./group-commit.ts";
import { keepHooks } from "./keep-hooks.ts";
import { relateTasks } from "./relate-tasks.ts";
import { retryTask } from "./retry-task.ts";
import type { Roster } from "./roster.ts";
import type { SelfDoubt } from "./self-doubt.ts";
import type { Moment } from "./steady-clock.ts";
import type { TellAgent } from "./take-words.ts";
import { tellWorkers } from "./tell-workers.ts";
import { trustAgents } from "./trust-agents.ts";
import { createWakeWheel, type Sleeper } from "./wake-wheel.ts";

interface TaskParts {
  readonly roster: Roster;
  readonly commits: GroupCommit;
  readonly doubt: SelfDoubt;
  readonly config: () => Config;
  readonly toWall: (at: MonoMs) => EpochMs;
  readonly saveEvents: (events: readonly RouseEvent[], time: EpochMs, agentId: string | null) => void;
  readonly intend: (action: Action, time: EpochMs) => void;
  readonly tellAgent: TellAgent;
}

/** A few hundredths of a second. */
const forgivenAtOnce = 2000;

/** One task in memory. */
class KeptTask implements Sleeper {
  task: TaskRecord;
  /** Since when it has its status. After a restart nobody knows better than that it was worked on before. */
  since: MonoMs;
  /** The store forgets it by itself in time. */
  ages: boolean;
  slot: number | null = null;
  constructor(task: TaskRecord, ages: boolean) {
    this.task = task;
    this.since = task.updatedAt;
    this.ages = ages;
  }
  wakeAt(): MonoMs | null {
    return this.task.wakeAt;
  }
}

/** The tasks the monitor knows: who has them, and what became of them. Everything is synchronous; the caller waits for the commit. */
export function keepTasks(parts: TaskParts) {
  const { roster, commits, doubt } = parts;
  const tasks = new Map<string, KeptTask>();
  const relations = relateTasks();
  const trust = trustAgents(parts);
  const wheel = createWakeWheel<KeptTask>();
  const awaitingWork = new Set<KeptTask>();
  let gapForgiven = 0;
  let toForgive: KeptTask[] = [];
  const toRemind: string[] = [];
  const rulesFor = chooseTaskRules(parts);
  const find = (taskId: string): TaskRecord | undefined => tasks.get(taskId)?.task;
  const hooks = keepHooks({ roster, find, dependentsOf: relations.dependentsOf, claim });
  const blocked = countBlocked(doubt, parts.tellAgent);
  const workers = tellWorkers({ roster, find, heldBy: relations.heldBy, tellAgent: parts.tellAgent });

  function run(kept: KeptTask, signal: TaskSignal, moment: Moment): TaskReply | null {
    const before = kept.task;
    const rules = signal.kind === "claim" ? rulesFor(before, signal.agentId) : rulesFor(before);
    const othersBlocked = blocked.othersThan(before.taskId);
    const about = { gaps: doubt.gaps(), frozen: doubt.frozen() !== null, othersBlocked };
    const turn = superviseTask(before, signal, { now: moment.now, rules, doubt: about });
    kept.task = turn.task;
    wheel.file(kept);
    if (turn.task === before) return turn.reply;
    if (turn.task.state.status !== before.state.status) kept.since = moment.now;
    listenFor(kept);
    relations.note(before, turn.task);
    blocked.note(before, turn.task);
    for (const event of turn.events) parts.saveEvents([event], moment.time, agentIn(event));
    for (const action of turn.actions) parts.intend(action, moment.time);
    save(kept);
    if (isTaskOver(turn.task) && !isTaskOver(before)) saveAgain(turn.task.dependsOn);
    trust.noteTurn(before, turn.task, rules, moment);
    workers.noteTurn(before, turn.task, moment);
    hooks.noteTask(before, turn.task, moment);
    return turn.reply;
  }

  /** The agent's next fact of work changes how these stand; what others' agents do is heard when their own clock is due. */
  function listenFor(kept: KeptTask): void {
    const { state } = kept.task;
    const listens = isAtWork(state) && (state.status === "claimed" || state.stalled !== null);
    if (listens) awaitingWork.add(kept);
    else awaitingWork.delete(kept);
  }

  const save = (kept: KeptTask): void => void commits.draft().tasks.set(kept.task.taskId, () => toSave(kept));

  /** What is over and still waited for must not be forgotten, or what waits for it would never be ready. */
  function toSave(kept: KeptTask): SavedTask {
    const { taskId, state } = kept.task;
    const overAt = "overAt" in state && !isWaitedFor(taskId) ? parts.toWall(state.overAt) : null;
    kept.ages = overAt !== null;
    return { taskId, record: JSON.stringify(kept.task), overAt };
  }

  /** Also by what failed or was cancelled: that may be tried again. */
  const isWaitedFor = (taskId: string): boolean => relations.dependentsOf(taskId).some((id) => !isCompleted(id));

  /** Who waits for them has changed. */
  function saveAgain(taskIds: readonly string[]): void {
    for (const taskId of taskIds) {
      const kept = tasks.get(taskId);
      if (kept !== undefined && isTaskOver(kept.task)) save(kept);
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

  const isCompleted = (taskId: string): boolean => tasks.get(taskId)?.task.state.status === "completed";

  /** Of whom nobody has heard, nobody knows that. */
  function isGone(agentId: string | null): boolean {
    const record = agentId === null ? undefined : roster.find(agentId)?.record;
    return record !== undefined && isGoneForGood(record);
  }

  /** `life`: which one of the agent's asks, where that is known better than by what was heard of it. */
  function claim(taskId: string, agentId: string, moment: Moment, life: number | null = null): TaskReply {
    const kept = mustFind(taskId);
    const record = roster.find(agentId)?.record;
    if (record !== undefined && isLifeOver(record, life)) return refusal("agent-over");
    if (record?.health.state === "QUARANTINED" && agentOf(kept.task) !== agentId) return refusal("quarantined");
    const heldClaims = relations.heldBy(agentId).filter((id) => id !== taskId).length;
    const standing = trust.standingOf(agentId, moment.now);
    const ready = isTaskReady(kept.task, isCompleted);
    const incarnation = life ?? record?.life.incarnation ?? null;
    return run(kept, { kind: "claim", agentId, incarnation, standing, heldClaims, ready }, moment) ?? refusal("taken");
  }

  /** What it was given and has not begun comes first: whoever asks again may not have heard the answer. */
  function chooseFor(agentId: string): string | null {
    const given = relations.heldBy(agentId).find((id) => tasks.get(id)?.task.state.status === "claimed");
    return given ?? chooseTask(records(), agentId)?.taskId ?? null;
  }

  function* records(): Iterable<TaskRecord> {
    for (const { task } of tasks.values()) yield task;
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
      // An agent that said it cannot go on and then ended has not done it; nor has one that took it from a queue and says nothing.
      const isNamed = kept.task.taskId === record.task.id && !record.task.claimed;
      const isOwn = isNamed && isAtWork(kept.task.state) && agentOf(kept.task) === agentId;
      if (isOwn) run(kept, { kind: "complete", agentId }, moment);
      else run(kept, { kind: "agent-down", agentId, because: "agent-finished", fate: "released" }, moment);
    }
  }

  /** What its agent did counts as an update, as of when it did it, for a task whose agent works on nothing else and does not say so itself. */
  function hearAgent(kept: KeptTask, { time }: Moment): void {
    const held = claimOf(kept.task);
    const record = held === null ? undefined : roster.find(held.agentId)?.record;
    if (held === null || record === undefined || record.task.id !== kept.task.taskId) return;
    const now = record.seen.facts.progress?.at ?? Number.NEGATIVE_INFINITY;
    if (now <= kept.task.updatedAt) return;
    run(kept, { kind: "update", agentId: held.agentId, claim: held.number }, { now, time });
  }

  /** Gaps are known only while we run: what they mean for a task is kept with it. A part of them at a time, so that it makes no gap of its own. */
  function forgiveBlindness(moment: Moment): void {
    const gap = doubt.lastGap()?.id ?? gapForgiven;
    if (gap !== gapForgiven) toForgive = [...tasks.values()].filter(({ task }) => claimOf(task) !== null);
    gapForgiven = gap;
    for (const kept of toForgive.splice(0, forgivenAtOnce)) run(kept, { kind: "wake" }, moment);
  }

  return {
    /** After the agents were. */
    restore({ tasks: saved, marks }: Pick<Resumption, "tasks" | "marks">): void {
      for (const { record, overAt } of saved) wheel.file(add(JSON.parse(record) as TaskRecord, overAt !== null));
      hooks.restore();
      trust.restore(marks);
      for (const { task } of tasks.values()) blocked.note(null, task);
      // Claims that an earlier version gave were told to nobody.
      for (const { record } of roster.all()) if (record.task.id === null) toRemind.push(record.agentId);
    },

    /** What an agent has on its hook. */
    heldBy: relations.heldBy,

    /** An agent was taken out of the list: with how much it is trusted goes with it. */
    forgetAgent: trust.forget,

    create(request: TaskRequest, moment: Moment): TaskReply {
      if (tasks.has(request.taskId)) return refusal("exists");
      const kept = add(newTask(request, moment.now));
      const reply = run(kept, { kind: "created" }, moment) ?? refusal("exists");
      saveAgain(request.dependsOn);
      return reply;
    },

    /** What failed or was cancelled is tried again. */
    retry(taskId: string, actor: string, moment: Moment): TaskReply {
      const kept = mustFind(taskId);
      const retried = retryTask(kept.task, actor, moment.now);
      if (retried === null) return refusal(isTaskOver(kept.task) ? "over" : "exists");
      const before = kept.task;
      kept.task = retried.task;
      kept.since = moment.now;
      parts.saveEvents([retried.event], moment.time, agentIn(retried.event));
      save(kept);
      saveAgain(kept.task.dependsOn);
      hooks.noteTask(before, kept.task, moment);
      return { kind: "granted", claim: null };
    },

    claim,

    /** The most urgent one that is ready; `null` when there is none. */
    claimNext(
      agentId: string,
      moment: Moment,
      life: number | null = null,
    ): { taskId: string; reply: TaskReply } | null {
      const taskId = chooseFor(agentId);
      return taskId === null ? null : { taskId, reply: claim(taskId, agentId, moment, life) };
    },

    say: (taskId: string, word: WordSignal, moment: Moment): TaskReply =>
      run(mustFind(taskId), word, moment) ?? refusal("not-yours"),

    order(taskId: string, order: TaskOrderSignal, moment: Moment): TaskReply {
      const kept = mustFind(taskId);
      if (order.kind === "reassign" && !isTaskOver(kept.task) && isGone(order.to)) return refusal("agent-over");
      return run(kept, order, moment) ?? refusal("over");
    },

    noteCheckpoint(taskId: string, checkpoint: string, agentId: string | null, moment: Moment): void {
      const kept = tasks.get(taskId);
      if (kept !== undefined) run(kept, { kind: "checkpointed", checkpoint, agentId }, moment);
    },

    /** What a turn changed about an agent: its tasks are kept for it, given back, or done. One that was started for a task has it. */
    noticeAgent(before: AgentRecord, after: AgentRecord, moment: Moment): void {
      hooks.noteTurn(before, after, moment);
      if (after.life.heard && !before.life.heard) workers.remindOfClaim(after.agentId, moment);
      const fate = fateOfWork(before, after);
      if (fate === null) return;
      const { agentId } = after;
      const { id: taskId } = after.task;
      const own = new Set([...relations.heldBy(agentId), ...relations.meantFor(agentId)]);
      // One that waits for a person has let go of everybody; its agent's own word still says whose it was.
      if (taskId !== null && "because" in fate && fate.because === "recovered-by-person") own.add(taskId);
      for (const id of own) {
        const kept = tasks.get(id);
        if (kept !== undefined) meetFate(kept, fate, after, moment);
      }
      if (fate.kind === "recovered") workers.tellOfLoss(after, moment);
    },

    restoreAssignments: trust.giveBack,

    judgeDue(moment: Moment): void {
      for (const agentId of toRemind.splice(0)) workers.remindOfClaim(agentId, moment);
      forgiveBlindness(moment);
      for (const kept of awaitingWork) hearAgent(kept, moment);
      for (const kept of wheel.takeDue(moment.now)) {
        hearAgent(kept, moment);
        run(kept, { kind: "wake" }, moment);
      }
      blocked.wakeConcerned(moment);
    },
    /** A thaw, or other settings: every clock may have changed. */
    wakeAll(moment: Moment): void {
      for (const kept of tasks.values()) if (!isTaskOver(kept.task)) run(kept, { kind: "wake" }, moment);
    },

    find,
    isWorkOf: workers.isWorkOf,
    all: (): TaskRecord[] => [...records()],
    statusSince: (taskId: string): MonoMs => mustFind(taskId).since,
    isCompleted,
    dependentsOf: relations.dependentsOf,
    rulesFor,
    standingOf: trust.find,
    /** The store forgets them too. */
    forgetOld({ now }: Moment, history: DurationMs): void {
      // Those that wait came after what they wait for: they go first.
      for (const kept of [...tasks.values()].reverse()) {
        const { task } = kept;
        if (!("overAt" in task.state) || now - task.state.overAt <= history || isWaitedFor(task.taskId)) continue;
        tasks.delete(task.taskId);
        relations.forget(task);
        if (!kept.ages) save(kept);
      }
    },
  };
}

export type Tasks = ReturnType<typeof keepTasks>;

const refusal = (because: TaskRefusal): TaskReply => ({ kind: "refused", because });

const agentIn = ({ payload }: RouseEvent): string | null =>
  "agentId" in payload && typeof payload.agentId === "string" ? payload.agentId : null;
