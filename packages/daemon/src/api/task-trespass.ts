import type { Overreach, SpokenFor } from "../home/agent-token.ts";

const folder = "/api/v1/tasks";
/** What an agent may say of a task. Whose it is decides the task itself. */
const words: ReadonlySet<string | undefined> = new Set(["claim", "refresh", "update", "complete", "fail", "release"]);

/**
 * Whether a request about tasks, going by method and path, is for an agent's own token. Reading is; a token that names a task claims and speaks for that
 * one only; one that names none belongs to whoever works through the queue. `null`: it is, `undefined`: nothing here allows it.
 */
export function findTaskTrespass(
  { taskId }: Pick<SpokenFor, "taskId">,
  method: string | undefined,
  path: string,
): Overreach | null | undefined {
  if (path === folder) return method === "GET" ? null : undefined;
  const [id = "", word, ...rest] = path.startsWith(`${folder}/`) ? path.slice(folder.length + 1).split("/") : [];
  const asked = decode(id);
  if (asked === "" || rest.length > 0) return undefined;
  if (method === "GET") return word === undefined ? null : undefined;
  if (method !== "POST") return undefined;
  if (word === undefined) return asked === "claim-next" && taskId === null ? null : undefined;
  if (!words.has(word)) return undefined;
  return taskId === null || taskId === asked ? null : { because: "other-task", claimed: asked };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return "";
  }
}
