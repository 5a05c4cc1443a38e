/** An agent that needs nothing but the SDK, for any runtime: it gets its settings as an argument and returns what it saw. */
export async function runAgent({ rouse, BreakerOpenError }, { id, url, token }) {
  const warnings = [];
  const agent = rouse.agent({ id, url, token, task: `task-${id}`, onWarning: (text) => warnings.push(text) });
  agent.phase("calling");
  const refused = [];
  for (let n = 0; n < 6; n++)
    await agent
      .tool("broken", { n }, () => Promise.reject(new Error("down")))
      .catch((error) => refused.push(error instanceof BreakerOpenError));
  const state = await agent.steps(
    [
      { name: "count", run: ({ n }) => ({ n: n + 1 }) },
      { name: "double", run: ({ n }) => ({ n: n * 2 }) },
    ],
    { n: 20 },
  );
  await agent.finish();
  return { refused, state, warnings };
}
