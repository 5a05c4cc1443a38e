import type { KnownTask } from "../../ports/task-source.ts";
import { editMembers } from "./edit-members.ts";
import type { LineContent } from "./read-lines.ts";

type TaskLine = Extract<LineContent, { kind: "task" }>;
type Shown = Readonly<Record<string, string | null>>;

/** Dates of a moment differ a little with every correction of the clock: that alone is no news. */
const sameMoment = 2000;

/** The text of the line with how its task stands; the same text when there is nothing new. */
export function showTask({ text, said }: TaskLine, known: KnownTask): string {
  const changes = Object.entries(wanted(known)).filter(([name, value]) => !isShown(said[name], name, value));
  return changes.length === 0 ? text : editMembers(text, new Map(changes));
}

function wanted({ task, agentId }: KnownTask): Shown {
  return {
    status: task.status,
    agent: agentId,
    // What its owner noted there stays until an agent has something to say.
    ...(task.note === null ? {} : { note: task.note }),
    started_at: task.startedAt,
    updated_at: task.updatedAt,
    rouse_status: task.status,
  };
}

function isShown(said: unknown, name: string, value: string | null): boolean {
  if (value === null) return said === undefined || said === null;
  if (said === value) return true;
  return name.endsWith("_at") && Math.abs(Date.parse(String(said)) - Date.parse(value)) <= sameMoment;
}
