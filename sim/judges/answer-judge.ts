import type { TaskReport } from "@rouse/contract";
import type { TaskAnswer, TaskCall } from "../world/task-line.ts";
import type { MayRefuse } from "./refusal-judge.ts";
import { describeClaim, type TaskFollower, type TaskTruth } from "./task-truth.ts";

/** A call, and how its task stood before it. */
export interface Heard {
  readonly call: TaskCall;
  readonly answer: TaskAnswer;
  readonly before: TaskTruth | null;
  /** What an agent that asks for the next task could have been given. */
  readonly choice: readonly TaskTruth[];
  /** The latest life of the agent that the monitor knew of. */
  readonly knownLife: number;
}

interface Parts {
  readonly violated: (text: string) => void;
  readonly truth: Pick<TaskFollower, "tasks" | "statesOf" | "isReady">;
  readonly mayRefuse: MayRefuse;
  /** What should have been given instead of a claim; `null`: nothing; `undefined`: it was not given in this turn. */
  readonly betterThan: (taskId: string, claim: number) => TaskTruth | null | undefined;
  readonly noteWork: (taskId: string) => void;
}

/** Holds what callers were told against what was saved in the same turn. */
export function judgeAnswers({ violated, truth, mayRefuse, betterThan, noteWork }: Parts) {
  const { tasks } = truth;

  function judge(one: Heard): void {
    const { call, answer } = one;
    if (call.verb === "trust" || answer.kind === "unheard") return;
    if (call.by === "agent" && call.life !== null && call.life < one.knownLife && answer.kind === "granted")
      violated(
        `${call.verb} of ${call.agentId} was granted to incarnation ${call.life}, and ${one.knownLife} is known`,
      );
    if (answer.kind === "refused") return judgeRefused(one, answer.because);
    if (answer.task === null) return judgeNothing(one);
    judgeGranted(one, answer.task);
  }

  function judgeRefused({ call, before }: Heard, because: string): void {
    if (call.verb === "trust") return;
    const states = [...(before === null ? [] : [before]), ...(call.taskId === null ? [] : truth.statesOf(call.taskId))];
    if (mayRefuse(call, because, states)) return;
    const stood = states.map(({ status, claim }) => `${status}, ${describeClaim(claim)}`).join("; ");
    violated(`${describeCall(call)} was refused: ${because} (it was ${stood === "" ? "not there" : stood})`);
  }

  /** There is nothing to do: then nothing that it could have had was there before and after. */
  function judgeNothing({ call, choice }: Heard): void {
    if (call.by !== "agent" || call.verb !== "claim-next") return;
    const left = choice.find((task) => tasks.get(task.taskId) === task && truth.isReady(task));
    if (left !== undefined)
      violated(`${call.agentId} was told that there is nothing to do, and ${left.taskId} is ready`);
  }

  /** What was answered is saved. */
  function judgeGranted({ call, before }: Heard, report: TaskReport): void {
    const { taskId, status, claim } = report;
    const task = tasks.get(taskId);
    if (task === undefined) return violated(`${taskId} was answered and is not saved`);
    if (claim !== null && claim.number > task.claims)
      violated(`claim ${claim.number} of ${taskId} was answered and is not saved`);
    if (status === "completed" && task.status !== "completed")
      violated(`${taskId} was answered to be completed, and is ${task.status}`);
    if (status === "cancelled" || status === "failed") {
      const seen = [...(before === null ? [] : [before]), task, ...truth.statesOf(taskId)];
      if (!seen.some((state) => state.status === status))
        violated(`${taskId} was answered to be ${status}, and is ${task.status}`);
    }
    if (call.by !== "agent") return;
    if (call.verb === "update" || call.verb === "complete" || call.verb === "fail")
      if (claim?.agentId === call.agentId) noteWork(taskId);
    if (call.verb === "claim" || call.verb === "claim-next") judgeGiven(call.agentId, call.verb, report);
  }

  function judgeGiven(agentId: string, verb: "claim" | "claim-next", { taskId, claim, status }: TaskReport): void {
    if (claim?.agentId !== agentId)
      return violated(`${agentId} was given ${taskId}, and it is ${claim?.agentId ?? "nobody"}'s`);
    if (verb === "claim") return;
    const choice = betterThan(taskId, claim.number);
    if (choice === undefined && status !== "claimed")
      violated(`${agentId} asked for the next task and got ${taskId}, which it had begun`);
    if (choice != null)
      violated(`${agentId} asked for the next task and got ${taskId}, and ${choice.taskId} comes before it`);
  }

  return { judge };
}

function describeCall(call: Exclude<TaskCall, { verb: "trust" }>): string {
  if (call.by === "person") return `${call.verb} of ${call.taskId} by a person`;
  const claim = call.claim === undefined ? "" : ` with claim ${call.claim}`;
  return `${call.verb} of ${call.taskId ?? "the next task"} by ${call.agentId}${claim}`;
}
