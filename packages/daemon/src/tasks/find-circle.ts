export interface Dependencies {
  readonly dependenciesOf: (taskId: string) => readonly string[];
  readonly isWaitedFor: (taskId: string) => boolean;
}

/** Whether a task that is not there yet would, through those it depends on, wait for itself. Names the way round, or `null`. */
export function findCircle(
  task: { readonly taskId: string; readonly dependsOn: readonly string[] },
  { dependenciesOf, isWaitedFor }: Dependencies,
): readonly string[] | null {
  // Only what is waited for already, or names itself, can close a circle: most tasks need no search.
  if (!isWaitedFor(task.taskId) && !task.dependsOn.includes(task.taskId)) return null;
  /** Each task that was come to, and from which. */
  const cameFrom = new Map<string, string>();
  const open = [task.taskId];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const next of at === task.taskId ? task.dependsOn : dependenciesOf(at)) {
      if (next === task.taskId) return [...wayTo(at, task.taskId, cameFrom), next];
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, at);
      open.push(next);
    }
  }
  return null;
}

function wayTo(end: string, start: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const way = [end];
  for (let at = end; at !== start; ) {
    at = cameFrom.get(at) ?? start;
    way.push(at);
  }
  return way.reverse();
}

/** So many are named at either end of a long way round. */
const named = 4;

export function describeCircle(circle: readonly string[]): string {
  const leftOut = circle.length - 2 * named;
  const shown = leftOut > 1 ? [...circle.slice(0, named), `(${leftOut} more)`, ...circle.slice(-named)] : circle;
  return shown.join(" → ");
}
