import type { KnownTask } from "../../ports/task-source.ts";
import { editMembers } from "./edit-members.ts";
import { type FileLine, joinLines, type LineContent, readLine, splitLines } from "./read-lines.ts";

type TaskContent = Extract<LineContent, { kind: "task" }>;

/** A line with what it says. */
export interface TaskLine extends FileLine {
  readonly number: number;
  readonly content: LineContent;
}

type FindTask = (taskId: string) => KnownTask | null;

const mostLines = 50_000;
/** So many lines are read before others get their turn: reading a long file must not block the event loop. */
const linesPerGo = 2000;

export const tooManyLines = `it has more than ${mostLines.toLocaleString("en")} lines; cut out what is over`;

export type LineProblem = readonly [line: TaskLine, problem: string];

/** The lines of a task file. Only what changed is read again and written anew. */
export class TaskLines {
  readonly bytes: Buffer;
  readonly lines: TaskLine[];
  readonly #mark: Buffer;
  readonly #byTask = new Map<string, number>();

  private constructor(bytes: Buffer, mark: Buffer, lines: TaskLine[]) {
    this.bytes = bytes;
    this.lines = lines;
    this.#mark = mark;
    for (const [index, { content }] of lines.entries())
      if (content.kind === "task") this.#byTask.set(content.request.taskId, index);
  }

  /** `null`: there are more than `mostLines`. */
  static async read(bytes: Buffer, pause: () => Promise<void>): Promise<TaskLines | null> {
    const split = splitLines(bytes, mostLines);
    if (split === null) return null;
    const lines: TaskLine[] = [];
    const seenAt = new Map<string, number>();
    for (const [index, line] of split.lines.entries()) {
      if (index > 0 && index % linesPerGo === 0) await pause();
      const number = index + 1;
      lines.push({ ...line, number, content: onlyOnce(readLine(line), number, seenAt) });
    }
    return new TaskLines(bytes, split.mark, lines);
  }

  has(taskId: string): boolean {
    return this.#byTask.has(taskId);
  }

  taskIds(): string[] {
    return [...this.#byTask.keys()];
  }

  /** The lines with the present status of these tasks, as far as they are known; `this` when nothing changes. */
  async showing(taskIds: readonly string[], find: FindTask, pause: () => Promise<void>): Promise<TaskLines> {
    const lines = [...this.lines];
    let changed = false;
    for (const [count, taskId] of taskIds.entries()) {
      if (count > 0 && count % linesPerGo === 0) await pause();
      const index = this.#byTask.get(taskId) ?? -1;
      const next = showLine(lines[index], find(taskId));
      if (next === null) continue;
      lines[index] = next;
      changed = true;
    }
    return changed ? new TaskLines(joinLines(this.#mark, lines), this.#mark, lines) : this;
  }

  unreadable(): LineProblem[] {
    return this.lines.flatMap((line): LineProblem[] =>
      line.content.kind === "unreadable" ? [[line, line.content.problem]] : [],
    );
  }

  /** Whether the last line breaks off: somebody may be in the middle of writing it. */
  breaksOff(): boolean {
    const last = this.lines.at(-1);
    return last !== undefined && last.end.length === 0 && last.content.kind === "unreadable";
  }
}

/** `null`: the line needs no change. */
function showLine(line: TaskLine | undefined, known: KnownTask | null): TaskLine | null {
  if (line?.content.kind !== "task" || known === null) return null;
  const text = showTask(line.content, known);
  if (text === line.content.text) return null;
  const bytes = Buffer.from(text);
  return { ...line, bytes, content: readLine({ bytes }) };
}

/** Of two lines for one task the first counts. */
function onlyOnce(content: LineContent, number: number, seenAt: Map<string, number>): LineContent {
  if (content.kind !== "task") return content;
  const { taskId } = content.request;
  const before = seenAt.get(taskId);
  if (before !== undefined) return { kind: "unreadable", problem: `line ${before} has the same id` };
  seenAt.set(taskId, number);
  return content;
}

/** Milliseconds. The date of one moment shifts with every correction of the clock; that alone is no change. */
const sameMoment = 2000;

/** The line's text with the present status of its task; the same text when nothing changes. */
function showTask({ text, said }: TaskContent, known: KnownTask): string {
  const changes = Object.entries(wanted(known)).filter(([name, value]) => !isShown(said[name], name, value));
  return changes.length === 0 ? text : editMembers(text, new Map(changes));
}

function wanted({ task, agentId }: KnownTask): Record<string, string | null> {
  return {
    status: task.status,
    agent: agentId,
    // The owner's note stays until an agent writes one.
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
