import type { RouseEvent, TaskPolicy, TaskReason, TaskReport } from "@rouse/contract";
import type { HeldActor } from "../actors/held-actor.ts";
import type { TaskWorker } from "../actors/task-worker.ts";
import type { TaskCall, Witness } from "../world/task-line.ts";
import { type Heard, judgeAnswers } from "./answer-judge.ts";
import { judgeRefusal } from "./refusal-judge.ts";
import { judgeTaskClocks } from "./task-clock-judge.ts";
import {
  type ClaimTruth,
  describeClaim,
  followTasks,
  isAtWork,
  type TaskChanged,
  type TaskDefinition,
  type TaskTruth,
} from "./task-truth.ts";
import { judgeTrust } from "./trust-judge.ts";

const second = 1000;
const minute = 60 * second;

interface Stretch {
  readonly from: number;
  readonly to: number;
}

interface Parts {
  readonly now: () => number;
  readonly violated: (text: string) => void;
  readonly policy: TaskPolicy;
  readonly workers: ReadonlyMap<string, TaskWorker>;
  /** Agents that Rouse holds. A task of their own begins with its first checkpoint. */
  readonly held: ReadonlyMap<string, HeldActor>;
  readonly blind: readonly Stretch[];
  readonly faults: readonly Stretch[];
  readonly excusedSince: (at: number) => number;
  /** Somebody has set the clock so far ahead that what is over is older than the history. */
  readonly mayForget: () => boolean;
  /** An agent that is not heard for so long has fallen silent. */
  readonly ttl: number;
  /** How long somebody may take to answer the question what is to become of a silent agent. */
  readonly questionTimeout: number;
}

/** What the tasks of a run came to. */
export interface TaskFindings {
  readonly created: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Claims that were given, and those that were asked for and refused. */
  readonly claims: number;
  readonly refused: number;
  /** Claims that ended with their task undone. */
  readonly givenBack: Readonly<Record<string, number>>;
  readonly orders: number;
  readonly told: {
    readonly stalled: number;
    readonly escalated: number;
    readonly longRunning: number;
    readonly timedOut: number;
  };
  readonly fewerAssignments: number;
  /** Answers that were lost, or never came. */
  readonly unheard: number;
}

interface Said {
  readonly call: TaskCall;
  readonly at: number;
}

/** Nobody is given more time than this at once. */
const mostTime = 60 * minute;
/** A commit that failed is saved when the store is back. */
const savedWithin = 5 * minute;

const isOwnTask = (taskId: string): boolean => taskId.startsWith("task-held-");
const unannounced: TaskDefinition = { priority: "normal", dependsOn: [], timeout: null, onTimeout: "reassign" };

const urgency = ["low", "normal", "high", "critical"];

/**
 * Knows what was asked of the task service, by whom and with which claim, and holds what was saved and answered against it: tasks are nobody's but
 * one agent's, handed out in their order, taken from whoever is gone, never lost and never ended by anybody who has no right to.
 */
export function judgeTasks(parts: Parts) {
  const { now, violated, policy, workers, held } = parts;
  const definitions = new Map<string, TaskDefinition>();
  const meant = new Map<string, string | null>();
  /** Everything that was said about a task, by verb and task. */
  const said = new Map<string, Said[]>();
  const givenBack: Record<string, number> = {};
  const counts = { claims: 0, refused: 0, orders: 0, fewerAssignments: 0, unheard: 0 };
  let heard: Heard[] = [];
  /** Until when a silent agent may have been given more time. */
  const moreTime = new Map<string, number>();
  /** Of those who fall silent together somebody is asked once for all; what each of them has is theirs until that is over. */
  const fleetIncidents = new Set<string>();
  let fleetClosedAt = Number.NEGATIVE_INFINITY;
  /** Which claims were given in this turn, and what should have been given instead. */
  const better = new Map<string, TaskTruth | null>();
  const quarantined = new Set<string>();
  const told = new Set<string>();

  const trust = judgeTrust(policy.highErrorRate, violated);
  const truth = followTasks({
    now,
    violated,
    definitionOf: (taskId) => definitions.get(taskId) ?? (isOwnTask(taskId) ? unannounced : undefined),
    meantFor: (taskId) => meant.get(taskId) ?? null,
    claimed,
    changed,
  });
  const { tasks } = truth;
  const clocks = judgeTaskClocks({
    ...parts,
    tasks,
    progressAt: (agentId) => workers.get(agentId)?.progressAt ?? Number.POSITIVE_INFINITY,
  });
  const mayRefuse = judgeRefusal({ tasks, workers, standingOf: trust.standingOf, isReady: truth.isReady, quarantined });

  const answers = judgeAnswers({
    violated,
    truth,
    mayRefuse,
    betterThan: (taskId, claim) => better.get(`${taskId} ${claim}`),
    noteWork: (taskId) => clocks.noteWork(taskId, true),
  });

  function claimed(before: TaskTruth, agentId: string): void {
    counts.claims += 1;
    const { taskId, status } = before;
    // What an agent was given before, it goes on with.
    const choices = status === "pending" ? choicesFor(agentId) : [];
    better.set(`${taskId} ${before.claims + 1}`, choices.find((other) => comesBefore(other, before)) ?? null);
    if (status !== "pending") return;
    const standing = trust.standingOf(agentId);
    const others = heldBy(agentId).filter((task) => task.taskId !== taskId).length;
    if (standing === "none") violated(`${agentId} is trusted with no tasks and was given ${taskId}`);
    if (standing === "few" && others > 0)
      violated(`${agentId} is trusted with one task at a time and was given ${taskId} beside ${others} others`);
  }

  const heldBy = (agentId: string): TaskTruth[] =>
    [...tasks.values()].filter(({ claim, status, lastHolder }) =>
      status === "recovering" ? lastHolder === agentId : claim?.agentId === agentId,
    );

  /** What an agent could be given. */
  const choicesFor = (agentId: string): TaskTruth[] =>
    [...tasks.values()].filter(
      (task) =>
        task.status === "pending" && (task.reservedFor === null || task.reservedFor === agentId) && truth.isReady(task),
    );

  /** Meant for the agent, then more urgent, then older. Of those that came in the same turn nobody knows which was first. */
  function comesBefore(a: TaskTruth, b: TaskTruth): boolean {
    if ((a.reservedFor === null) !== (b.reservedFor === null)) return a.reservedFor !== null;
    if (a.priority !== b.priority) return urgency.indexOf(a.priority) > urgency.indexOf(b.priority);
    return a.createdAt < b.createdAt;
  }

  function changed(before: TaskTruth, after: TaskTruth, change: TaskChanged): void {
    clocks.changed(before, after);
    const { taskId, because } = after;
    if (before.status === "failed" || before.status === "cancelled")
      return wasSaid("retry", taskId, null, "tried again");
    if (after.status === "completed" || after.status === "failed") return ended(before, after);
    if (isAtWork(before) && !isAtWork(after)) givenBack[because] = (givenBack[because] ?? 0) + 1;
    checkReason(before, after, change);
  }

  /** Only the agent that holds it can end it, with the number of its claim if it names one. */
  function ended(before: TaskTruth, { taskId, status }: TaskTruth): void {
    const { claim } = before;
    if (claim === null) return violated(`${taskId} is ${status}, and nobody held it`);
    const actor = held.get(claim.agentId);
    const worker = workers.get(claim.agentId);
    // Whoever names a task in its beats and says that it is done has done that task.
    const isNamed = worker?.traits.namesTask === true && worker.saidDone && status === "completed";
    if (actor === undefined && !isNamed) wasSaid(status === "completed" ? "complete" : "fail", taskId, claim, status);
    if (actor !== undefined && !isDone(actor, taskId))
      violated(`${taskId} is ${status}, and ${actor.id} has not done it`);
    trust.ended(claim.agentId, status === "failed");
  }

  /** What an agent was started for is done when it ends well. */
  const isDone = ({ life, taskDone }: HeldActor, taskId: string): boolean =>
    life.finished || taskDone || life.taskId !== taskId;

  function wasSaid(
    verb: TaskCall["verb"],
    taskId: string,
    claim: Pick<ClaimTruth, "number" | "agentId"> | null,
    what: string,
  ): void {
    const calls = said.get(`${verb} ${taskId}`) ?? [];
    const isMeant = ({ call, at }: Said): boolean => {
      if (now() - at > savedWithin) return false;
      if (claim === null || call.by !== "agent") return true;
      return call.agentId === claim.agentId && (call.claim === undefined || call.claim === claim.number);
    };
    if (!calls.some(isMeant))
      violated(`${taskId} is ${what}, and nobody who may has said so (it is ${describeClaim(claim)})`);
  }

  function checkReason(before: TaskTruth, after: TaskTruth, { actor }: TaskChanged): void {
    const { taskId, because } = after;
    const verb = orderFor[because];
    if (verb !== undefined) return wasSaid(verb, taskId, null, `${after.status} by ${actor}`);
    // That a claim is released is told before what becomes of its task.
    const holder = before.claim ?? { number: before.claims, agentId: before.lastHolder ?? "" };
    if (because === "released-by-agent") return wasSaid("release", taskId, holder, "given back");
    if (because === "agent-blocked") return wasSaid("update", taskId, holder, "blocked");
    const worker = isAtWork(before) ? workers.get(holder.agentId) : undefined;
    if (worker === undefined) return;
    if (because === "agent-gone" && now() - worker.heardAt < 0.9 * parts.ttl)
      violated(`${taskId} was taken from ${worker.id}, which was heard ${seconds(now() - worker.heardAt)} ago`);
    if (because === "agent-finished" && !worker.saidDone)
      violated(`${taskId} was taken from ${worker.id}, which has not finished`);
  }

  function note(event: RouseEvent): void {
    truth.note(event);
    clocks.note(event);
    trust.note(event);
    if (event.type === "ASSIGNMENTS_REDUCED" || event.type === "ASSIGNMENTS_STOPPED") counts.fewerAssignments += 1;
    if (event.type === "ESCALATION_DECIDED" && event.payload.decision === "allow_more_time")
      moreTime.set(event.payload.agentId, now() + mostTime);
    if (event.type === "FLEET_INCIDENT_OPENED") fleetIncidents.add(event.payload.incident);
    if (event.type === "FLEET_INCIDENT_CLOSED") {
      fleetIncidents.delete(event.payload.incident);
      fleetClosedAt = now();
    }
    if (event.type !== "HEALTH_STATE_CHANGED") return;
    const { agentId, to } = event.payload;
    if (to === "QUARANTINED") quarantined.add(agentId);
    else quarantined.delete(agentId);
  }

  const witness: Witness = {
    asked(call) {
      remember(call);
      const before = call.verb === "trust" || call.taskId === null ? null : (tasks.get(call.taskId) ?? null);
      const choice = call.verb === "claim-next" ? choicesFor(call.agentId) : [];
      const knownLife = call.by === "agent" ? (workers.get(call.agentId)?.knownLife ?? 0) : 0;
      return (answer) => {
        if (answer.kind !== "unheard") heard.push({ call, answer, before, choice, knownLife });
      };
    },
    unheard() {
      counts.unheard += 1;
    },
  };

  function remember(call: TaskCall): void {
    if (call.verb === "trust") return;
    if (call.by === "person") counts.orders += call.verb === "create" ? 0 : 1;
    if (call.taskId === null) return;
    const { verb, taskId } = call;
    const key = `${verb} ${taskId}`;
    said.set(key, [...(said.get(key) ?? []).filter(({ at }) => now() - at <= savedWithin), { call, at: now() }]);
    if (call.verb === "create" && !definitions.has(taskId)) definitions.set(taskId, readDefinition(call.body));
    if (call.verb === "reassign") meant.set(taskId, (call.body["to"] as string | undefined) ?? null);
    if (call.verb === "update") clocks.noteWork(taskId, false);
  }

  /** Every answer of the turn is held against what was saved in it. */
  function settle(): void {
    for (const one of heard) {
      const { call, answer } = one;
      if (answer.kind === "refused" && (call.verb === "claim" || call.verb === "claim-next")) counts.refused += 1;
      answers.judge(one);
    }
    heard = [];
    trust.settle();
    better.clear();
    truth.forgetStates();
  }

  /** The monitor's own account, after a restart and now and then. */
  function compare(reports: readonly TaskReport[], when: string): void {
    const known = new Map(reports.map((report) => [report.taskId, report]));
    for (const report of reports)
      if (!tasks.has(report.taskId)) violated(`${report.taskId} is known ${when} and was never saved`);
    for (const task of [...tasks.values()].reverse()) {
      const report = known.get(task.taskId);
      if (report === undefined && parts.mayForget()) {
        truth.forget(task);
        continue;
      }
      if (report === undefined) {
        violated(`${task.taskId} is lost ${when} (it was ${task.status})`);
        continue;
      }
      const is = `${report.status}, ${describeReport(report)}`;
      const was = `${task.status}, ${describeClaim(task.claim)}`;
      if (is !== was) violated(`${task.taskId} is ${is} ${when}, and was ${was}`);
      if (task.status === "pending" && report.reservedFor !== task.reservedFor)
        violated(`${task.taskId} is meant for ${report.reservedFor} ${when}, and was for ${task.reservedFor}`);
    }
  }

  /** Nobody works on a task whose agent is gone: it is taken from it, within the time in which silence becomes a person's matter. */
  function lookForTheForgotten(): void {
    clocks.lookForTheForgotten();
    if (fleetIncidents.size > 0) return;
    for (const task of tasks.values()) {
      const { claim, taskId } = task;
      const worker = claim === null || !isAtWork(task) ? undefined : workers.get(claim.agentId);
      if (worker === undefined || claim === null || worker.state.kind === "working" || worker.knownLife === 0) continue;
      const key = `${taskId} ${claim.number}`;
      const { doneHeardAt } = worker;
      const since = Math.max(
        doneHeardAt ?? worker.state.since,
        claim.since,
        moreTime.get(worker.id) ?? 0,
        fleetClosedAt,
      );
      const waited = now() - since - parts.excusedSince(since);
      const allowed = doneHeardAt === null ? parts.ttl + parts.questionTimeout + 10 * minute : minute;
      if (waited <= allowed || told.has(key)) continue;
      told.add(key);
      violated(
        `${taskId} is still ${worker.id}'s, which has been ${worker.state.kind} for ${minutes(now() - worker.state.since)}`,
      );
    }
  }

  function findings(): TaskFindings {
    const ended = { completed: 0, failed: 0, cancelled: 0 };
    for (const { status } of tasks.values()) if (status in ended) ended[status as keyof typeof ended] += 1;
    return { created: tasks.size, ...ended, ...counts, givenBack, told: clocks.told() };
  }

  return { tasks, witness, note, settle, compare, lookForTheForgotten, findings, standingOf: trust.standingOf };
}

const orderFor: Readonly<Partial<Record<TaskReason, TaskCall["verb"]>>> = {
  "cancelled-by-person": "cancel",
  "reassigned-by-person": "reassign",
  "marked-by-person": "block",
  "unblocked-by-person": "unblock",
};

function readDefinition(body: Readonly<Record<string, unknown>>): TaskDefinition {
  const { priority, dependsOn, timeoutMinutes, onTimeout } = body as {
    readonly priority: TaskDefinition["priority"];
    readonly dependsOn: readonly string[];
    readonly timeoutMinutes?: number;
    readonly onTimeout: TaskDefinition["onTimeout"];
  };
  return { priority, dependsOn, onTimeout, timeout: timeoutMinutes === undefined ? null : timeoutMinutes * minute };
}

const describeReport = ({ claim }: TaskReport): string =>
  claim === null ? "nobody's" : `${claim.agentId}'s by claim ${claim.number}`;

const seconds = (ms: number): string => `${(ms / second).toFixed(0)} s`;
const minutes = (ms: number): string => `${(ms / minute).toFixed(1)} min`;
