const ofTask = /^\/api\/v1\/tasks\/[^/]+\/checkpoints$/;
const verdict = /^\/api\/v1\/tasks\/[^/]+\/checkpoints\/verify$/;
const single = /^\/api\/v1\/checkpoints\/[0-9a-f]{64}$/;

/** Whether an agent's own token is good for asking this at all. Whether the task is its own is looked at where it is answered. */
export function isForCheckpoints(method: string | undefined, path: string): boolean {
  if (method === "POST") return ofTask.test(path);
  return method === "GET" && (ofTask.test(path) || verdict.test(path) || single.test(path));
}
