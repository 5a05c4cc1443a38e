import { Fault, type FaultCode, type TaskStatus } from "@rouse/contract";
import type { SourceOrder, TaskDesk } from "../../ports/task-source.ts";
import type { TaskLine } from "./task-lines.ts";

type TellProblem = (line: TaskLine, problem: string) => void;

/** So many lines are handed in before their commit is waited for. */
const linesPerCommit = 500;

/** Hands in what the lines ask for. A problem of one line is told and concerns that line only; others are thrown. */
export async function takeIn(lines: readonly TaskLine[], desk: TaskDesk, tellProblem: TellProblem): Promise<void> {
  for (let from = 0; from < lines.length; from += linesPerCommit) {
    const some = lines.slice(from, from + linesPerCommit);
    const outcomes = await Promise.allSettled(some.map((line) => takeLine(line, desk, tellProblem)));
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  }
}

async function takeLine(line: TaskLine, desk: TaskDesk, tellProblem: TellProblem): Promise<void> {
  if (line.content.kind !== "task") return;
  const { request, status, written } = line.content;
  const { taskId } = request;
  const known = desk.find(taskId)?.task.status ?? null;
  try {
    if (known === null) {
      // An unknown task that is over was forgotten with the history, or is its owner's note: it is not begun again.
      if (status !== null && isOver(status)) return;
      await desk.create(request);
      if (status === "blocked") await order(desk, "block", taskId);
      return;
    }
    // Only a status that differs from what Rouse wrote there last is somebody's word.
    if (status === null || status === written || status === known) return;
    const wanted = chooseOrder(status, written, known);
    if (wanted === "not-here") tellProblem(line, notHere);
    else if (wanted !== null) await order(desk, wanted, taskId);
  } catch (error) {
    if (!(error instanceof Fault) || !isOfLine.has(error.code)) throw error;
    tellProblem(line, error.message);
  }
}

/** `not-here`: the status cannot be had by writing it into the file. `null`: there is nothing to order. */
function chooseOrder(
  status: TaskStatus,
  written: TaskStatus | null,
  known: TaskStatus,
): SourceOrder | "not-here" | null {
  if (status === "cancelled") return isOver(known) ? null : "cancel";
  // A program that always writes `pending` makes lines without Rouse's own status: that is nobody's wish to try again.
  if (status === "pending" && written !== null) {
    if (known === "blocked") return "unblock";
    if (known === "failed" || known === "cancelled") return "retry";
  }
  return "not-here";
}

const isOver = (status: TaskStatus): boolean => status === "completed" || status === "failed" || status === "cancelled";

const notHere =
  "only `cancelled`, and `pending` for what failed or is blocked, can be ordered here; its status was put back";

const order = (desk: TaskDesk, what: SourceOrder, taskId: string): Promise<unknown> =>
  desk.order(what, taskId, "task-file", "changed in the task file");

/** Faults that are caused by what the line says; any other is our own. */
const isOfLine: ReadonlySet<FaultCode> = new Set(["bad-request", "task-refused", "task-unknown"]);
