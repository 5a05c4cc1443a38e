import {
  type AssignmentStanding,
  type DurationMs,
  type MonoMs,
  minutes,
  type RouseEvent,
  type TaskReason,
  TaskRequest,
} from "@rouse/contract";
import { type Gap, lastGap } from "../doubt.ts";
import type { Action } from "../signal.ts";
import { dawn, ms } from "../story.test-support.ts";
import { superviseTask } from "./supervise-task.ts";
import { claimOf, newTask, type TaskRecord } from "./task-record.ts";
import type {
  AgentDownSignal,
  TaskRules,
  TaskSignal,
  TaskSurroundings,
  TaskTurn,
  WorkerReport,
} from "./task-signal.ts";

/** The rules that the first description of the project named. */
export const seedRules: TaskRules = {
  stalled: minutes(30),
  recheck: minutes(10),
  longRunning: minutes(120),
  highErrorRate: 0.3,
  afterTimeout: "nudge",
  maxRecoveries: 3,
  mode: "act",
};

export interface TaskStoryGiven {
  readonly request?: Partial<TaskRequest>;
  readonly rules?: Partial<TaskRules>;
  readonly othersBlocked?: number;
  /** Look this often, instead of only when the record asks for it. */
  readonly lookEvery?: DurationMs;
}

export interface ClaimExtras {
  readonly incarnation?: number | null;
  readonly standing?: AssignmentStanding;
  readonly heldClaims?: number;
  readonly ready?: boolean;
}

/**
 * One task's life on virtual time. Between signals it is looked at exactly when its record asked to be, so a story that
 * sees something happen on time also shows that no deadline is missing. It starts at 0 s with the creation.
 */
export function taskStory(given: TaskStoryGiven = {}) {
  const rules: TaskRules = { ...seedRules, ...given.rules };
  let now: MonoMs = dawn;
  let doubt: TaskSurroundings = { gaps: [], frozen: false, othersBlocked: given.othersBlocked ?? 0 };
  let task: TaskRecord = newTask(TaskRequest.parse({ taskId: "t-1", ...given.request }), now);
  const events: RouseEvent[] = [];
  const actions: Action[] = [];
  const told: string[] = [];
  let looks = 0;
  let workedAt: MonoMs | null = null;

  function take(signal: TaskSignal): TaskTurn {
    const turn = superviseTask(task, signal, { now, rules, doubt, workedAt });
    task = turn.task;
    events.push(...turn.events);
    actions.push(...turn.actions);
    told.push(...turn.events.map((event) => `${(now - dawn) / 1000}s ${describeEvent(event)}`));
    return turn;
  }

  function wake(): void {
    looks += 1;
    take({ kind: "wake" });
    if (given.lookEvery === undefined && task.wakeAt !== null && task.wakeAt <= now) {
      throw new Error(`looked at ${(now - dawn) / 1000} s, the task wants to be looked at again without time passing`);
    }
  }

  function nextLook(): MonoMs | null {
    if (given.lookEvery !== undefined) return now + given.lookEvery;
    return task.wakeAt === null ? null : Math.max(task.wakeAt, now);
  }

  function pass(duration: string | DurationMs): void {
    const until = now + ms(duration);
    for (let next = nextLook(); next !== null && next <= until; next = nextLook()) {
      now = next;
      wake();
    }
    now = until;
  }

  /** "granted 2", "granted" or the refusal. */
  function answer(signal: TaskSignal): string {
    const { reply } = take(signal);
    if (reply === null) return "no answer";
    if (reply.kind === "refused") return reply.because;
    return reply.claim === null ? "granted" : `granted ${reply.claim}`;
  }

  const says = (report: WorkerReport): string => answer(report);
  const orders = (kind: "cancel" | "block" | "unblock", actor = "ann"): string =>
    answer({ kind, actor, reason: "because I say so" });

  answer({ kind: "created" });

  return {
    take,
    answer,
    pass,
    claims(agentId: string, extras: ClaimExtras = {}): string {
      const { incarnation = 1, standing = "normal", heldClaims = 0, ready = true } = extras;
      return answer({ kind: "claim", agentId, incarnation, standing, heldClaims, ready });
    },
    updates: (agentId: string, more: { note?: string; status?: "running" | "blocked"; claim?: number } = {}): string =>
      says({ kind: "update", agentId, ...more }),
    refreshes: (agentId: string, claim?: number): string => says({ kind: "refresh", agentId, claim }),
    completes: (agentId: string, claim?: number): string => says({ kind: "complete", agentId, claim }),
    fails: (agentId: string, claim?: number): string => says({ kind: "fail", agentId, claim }),
    releases: (agentId: string, claim?: number): string => says({ kind: "release", agentId, claim }),
    orders,
    reassigns: (to: string | null): string =>
      answer({ kind: "reassign", to, actor: "ann", reason: "because I say so" }),
    goesDown: (
      agentId: string,
      fate: AgentDownSignal["fate"],
      because: TaskReason = "agent-gone",
      afterLimit = false,
    ): TaskTurn => take({ kind: "agent-down", agentId, because, fate, afterLimit }),
    comesBack: (agentId: string, incarnation: number): TaskTurn =>
      take({ kind: "agent-recovered", agentId, incarnation }),
    checkpoints: (agentId: string | null, checkpoint = "c1"): TaskTurn =>
      take({ kind: "checkpointed", checkpoint, agentId }),
    /** Its agent gets further, and nobody looks at the task for that. */
    isWorkedOn(): void {
      workedAt = now;
    },
    /** Time passes without a look, although one was due. */
    weAreLateBy(duration: string | DurationMs): void {
      now += ms(duration);
    },
    /** The monitor is blind for a while; afterwards it knows, and looks at the tasks that are due. */
    monitorIsBlindFor(duration: string | DurationMs): Gap {
      const gap: Gap = { id: (lastGap(doubt)?.id ?? 0) + 1, cause: "stall", from: now, to: now + ms(duration) };
      now = gap.to;
      doubt = { ...doubt, gaps: [...doubt.gaps, gap] };
      wake();
      return gap;
    },
    /** A freeze and its end wake the tasks. */
    freezes(frozen: boolean): void {
      doubt = { ...doubt, frozen };
      wake();
    },
    get task() {
      return task;
    },
    get status() {
      return task.state.status;
    },
    get claim() {
      return claimOf(task);
    },
    get now() {
      return now;
    },
    get doubt() {
      return doubt;
    },
    get looks() {
      return looks;
    },
    rules,
    events,
    actions,
    /** Every event with its time, such as "1800s TASK_STALLED". */
    told,
    /** The same without the first ones. */
    toldSince(count: number): string[] {
      return told.slice(count);
    },
    alerts: (): string[] => actions.map((action) => `${action.kind} ${action.key}`),
  };
}

export type TaskStory = ReturnType<typeof taskStory>;

function describeEvent(event: RouseEvent): string {
  switch (event.type) {
    case "TASK_CHANGED": {
      const { from, to, because, actor } = event.payload;
      return `${from} → ${to}: ${because} by ${actor}`;
    }
    case "TASK_CLAIMED":
      return `${event.payload.agentId} has claim ${event.payload.claim}`;
    case "TASK_RELEASED":
      return `${event.payload.agentId} lost claim ${event.payload.claim}: ${event.payload.because}`;
    case "ALERT_RAISED":
      return `${event.payload.severity}: ${event.payload.summary}`;
    case "ALERT_RESOLVED":
      return `resolved ${event.payload.alert}`;
    default:
      return event.type;
  }
}
