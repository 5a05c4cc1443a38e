import type { TaskReport, TaskStatus } from "@rouse/contract";
import type { SourceOrder } from "../../ports/task-source.ts";

/** What a line asks for. */
export type Step =
  | { readonly kind: "create"; readonly blocked: boolean }
  | { readonly kind: "order"; readonly order: SourceOrder }
  /** Rouse has nothing to say in it. */
  | { readonly kind: "leave" }
  /** Rouse shows how the task stands. `instead`: a status in the line that cannot be had by writing it there. */
  | { readonly kind: "show"; readonly instead: TaskStatus | null };

interface Said {
  readonly status: TaskStatus | null;
  /** What Rouse wrote there last: only what differs from it is somebody's word. */
  readonly written: TaskStatus | null;
}

const show: Step = { kind: "show", instead: null };

export function chooseStep({ status, written }: Said, known: Pick<TaskReport, "status"> | null): Step {
  if (known === null) return begin(status);
  if (status === null || status === written || status === known.status) return show;
  if (status === "cancelled") return isOver(known.status) ? show : { kind: "order", order: "cancel" };
  // A line without Rouse's own word may be made by a program that always says `pending`: that is nobody's wish to try again.
  if (status === "pending" && written !== null) {
    if (known.status === "blocked") return { kind: "order", order: "unblock" };
    if (known.status === "failed" || known.status === "cancelled") return { kind: "order", order: "retry" };
  }
  return { kind: "show", instead: status };
}

/** What is over and not known any more was forgotten with the history, or is somebody's own record: it is not begun again. */
function begin(status: TaskStatus | null): Step {
  if (status !== null && isOver(status)) return { kind: "leave" };
  return { kind: "create", blocked: status === "blocked" };
}

const isOver = (status: TaskStatus): boolean => status === "completed" || status === "failed" || status === "cancelled";
