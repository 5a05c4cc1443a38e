/** Whether a task that is not there yet would, through those it depends on, wait for itself. Names the way round, or `null`. */
export function findCircle(
  task: { readonly taskId: string; readonly dependsOn: readonly string[] },
  dependenciesOf: (taskId: string) => readonly string[],
): readonly string[] | null {
  const seen = new Set<string>();
  const ways: (readonly string[])[] = [[task.taskId]];
  for (let way = ways.pop(); way !== undefined; way = ways.pop()) {
    const at = way[way.length - 1] ?? "";
    for (const next of at === task.taskId ? task.dependsOn : dependenciesOf(at)) {
      if (next === task.taskId) return [...way, next];
      if (seen.has(next)) continue;
      seen.add(next);
      ways.push([...way, next]);
    }
  }
  return null;
}
