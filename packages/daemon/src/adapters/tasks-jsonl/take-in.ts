import { Fault, type FaultCode } from "@rouse/contract";
import type { TaskDesk } from "../../ports/task-source.ts";
import { chooseStep } from "./choose-step.ts";
import type { TaskLine } from "./task-lines.ts";

export type TellProblem = (line: TaskLine, problem: string) => void;

/** So many are handed in before their commit is waited for. */
const linesPerCommit = 500;

/** Hands in what the lines ask for. What is wrong with a line is told and concerns only that line; anything else is thrown. */
export async function takeIn(lines: readonly TaskLine[], desk: TaskDesk, tellProblem: TellProblem): Promise<void> {
  for (let from = 0; from < lines.length; from += linesPerCommit) {
    const some = lines.slice(from, from + linesPerCommit);
    const outcomes = await Promise.allSettled(some.map((line) => takeLine(line, desk, tellProblem)));
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  }
}

async function takeLine(line: TaskLine, desk: TaskDesk, tellProblem: TellProblem): Promise<void> {
  if (line.content.kind !== "task") return;
  const { request } = line.content;
  const { taskId } = request;
  const step = chooseStep(line.content, desk.find(taskId)?.task ?? null);
  try {
    switch (step.kind) {
      case "create":
        await desk.create(request);
        if (step.blocked) await order(desk, "block", taskId);
        break;
      case "order":
        await order(desk, step.order, taskId);
        break;
      case "show":
        if (step.instead !== null) tellProblem(line, notHere);
        break;
      case "leave":
        break;
    }
  } catch (error) {
    if (!(error instanceof Fault) || !isOfLine.has(error.code)) throw error;
    tellProblem(line, error.message);
  }
}

const notHere =
  "only `cancelled`, and `pending` for what failed or is blocked, can be ordered here; its status was put back";

const order = (desk: TaskDesk, what: Parameters<TaskDesk["order"]>[0], taskId: string): Promise<unknown> =>
  desk.order(what, taskId, "task-file", "changed in the task file");

/** What is refused because of what the line says; the rest is our own fault. */
const isOfLine: ReadonlySet<FaultCode> = new Set(["bad-request", "task-refused", "task-unknown"]);
