import { Fault, type TaskReport, type TaskStatus } from "@rouse/contract";
import type { Monitor } from "../../packages/daemon/src/monitor.ts";
import type { Speak } from "./monitor-world.ts";
import type { Random } from "./random.ts";
import type { Timeline } from "./virtual-time.ts";

const second = 1000;
/** Callers wait this long for an answer. */
const patience = 30 * second;
/** So many requests, and as many answers, are lost on the way. */
const lost = 0.01;

export type AgentVerb = "claim-next" | "claim" | "refresh" | "update" | "complete" | "fail" | "release";
export type Order = "create" | "cancel" | "reassign" | "block" | "unblock" | "retry";

/** A request to the task service. */
export type TaskCall =
  | {
      readonly by: "agent";
      readonly verb: AgentVerb;
      readonly agentId: string;
      /** Which incarnation speaks, as its token would say; `null` for an agent without a token. */
      readonly life: number | null;
      /** `null` for claim-next. */
      readonly taskId: string | null;
      readonly claim?: number | undefined;
      readonly status?: "running" | "blocked" | undefined;
    }
  | {
      readonly by: "person";
      readonly verb: Order;
      readonly taskId: string;
      /** What a new task is; for whom a task is meant. */
      readonly body: Readonly<Record<string, unknown>>;
    }
  | { readonly by: "person"; readonly verb: "trust"; readonly agentId: string };

export type TaskAnswer =
  | { readonly kind: "granted"; readonly task: TaskReport | null }
  /** `because`: the reason of a refusal, or the code of any other fault. */
  | { readonly kind: "refused"; readonly because: string }
  /** The request or its answer was lost, the monitor died, or its store is down: nobody knows what came of it. */
  | { readonly kind: "unheard" };

interface Parts {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly speak: Speak;
  readonly isCutOff: (agentId: string) => boolean;
  readonly witness: Witness;
}

/** Learns of every call in the turn of the monitor in which it is carried out. */
export interface Witness {
  asked(call: TaskCall): (answer: TaskAnswer) => void;
  /** Whoever called heard nothing, or only that nothing can be saved. */
  unheard(): void;
}

/** How agents and people reach the task service: requests and answers get lost, and one that came late is obeyed all the same. */
export function createTaskLine({ timeline, random, speak, isCutOff, witness }: Parts) {
  const isLost = (call: TaskCall): boolean => random.chance(lost) || (call.by === "agent" && isCutOff(call.agentId));

  return function ask(call: TaskCall, heard: (answer: TaskAnswer) => void): void {
    let isOver = false;
    const hear = (answer: TaskAnswer): void => {
      if (isOver) return;
      isOver = true;
      if (answer.kind === "unheard") witness.unheard();
      heard(answer);
    };
    timeline.after(patience, () => hear({ kind: "unheard" }));
    if (isLost(call)) return;
    const carry = async (to: Monitor): Promise<void> => {
      const noteAnswer = witness.asked(call);
      const answer = await obey(to, call);
      noteAnswer(answer);
      if (!isLost(call)) timeline.after(random.between(1, 60), () => hear(answer));
    };
    timeline.after(random.between(1, 60), () => speak(carry));
  };
}

export type AskTasks = ReturnType<typeof createTaskLine>;

async function obey(to: Monitor, call: TaskCall): Promise<TaskAnswer> {
  try {
    return { kind: "granted", task: await request(to, call) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (error.retryable) return { kind: "unheard" };
    return { kind: "refused", because: /\(([a-z-]+)\)$/.exec(error.message)?.[1] ?? error.code };
  }
}

async function request({ help: { service } }: Monitor, call: TaskCall): Promise<TaskReport | null> {
  if (call.verb === "trust") {
    await service.restoreAssignments(call.agentId, { actor: "owner", reason: "simulated" });
    return null;
  }
  if (call.by === "person") {
    if (call.verb === "create") return service.create({ taskId: call.taskId, ...call.body });
    return service[call.verb](call.taskId, { actor: "owner", reason: "simulated", ...call.body });
  }
  const { verb, agentId, life, taskId, claim, status } = call;
  if (verb === "claim-next" || taskId === null) return (await service.claimNext({ agentId }, life)).task;
  if (verb === "claim") return service.claim(taskId, { agentId }, life);
  return service[verb](taskId, { agentId, claim, ...(status === undefined ? {} : { status }) }, life);
}

/** How every task stands by the monitor's own account. */
export function listAll({ help: { service } }: Monitor, filter: { agentId?: string; status?: TaskStatus[] } = {}) {
  return service.list({ ...filter, limit: Number.MAX_SAFE_INTEGER }).tasks;
}
