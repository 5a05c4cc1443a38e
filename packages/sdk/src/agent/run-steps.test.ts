import { describe, expect, it } from "vitest";
import type { AgentStep, StepContext } from "./agent-api.ts";
import { problem, scriptedRouse } from "./scripted-rouse.test-support.ts";

interface Done {
  readonly done: readonly string[];
}

/** Steps that write down in what order and with what they ran. */
function listOf(...names: string[]) {
  const ran: StepContext[] = [];
  const list: AgentStep<Done>[] = names.map((name) => ({
    name,
    run: ({ done }, context) => {
      ran.push(context);
      return { done: [...done, name] };
    },
  }));
  return { ran, list };
}

const start: Done = { done: [] };
const kept = (id: string, step: number, stepName: string, state: unknown) => ({ id, step, stepName, state });

describe("a list of steps", () => {
  it("runs from the first to the last, with a checkpoint after each", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent({ task: "t" });
    const { ran, list } = listOf("read", "write");
    expect(await agent.steps(list, start)).toEqual({ done: ["read", "write"] });
    expect(ran).toEqual([
      { number: 1, key: "t/1/read", again: false },
      { number: 2, key: "t/2/write", again: false },
    ]);
    expect(rouse.saved().map(({ step, stepName }) => [step, stepName])).toEqual([
      [0, ""],
      [1, "read"],
      [2, "write"],
    ]);
  });

  it("may hand on another kind of state from each step to the next, with their types", async () => {
    const { agent } = scriptedRouse().agent({ task: "t" });
    const look = async (topic: string) => ({ topic, facts: [`${topic} can dance`] });
    const write = ({ facts }: { facts: string[] }) => ({ text: facts.join(", ") });
    const essay = await agent.steps(
      [
        { name: "look", run: look },
        { name: "write", run: write },
        { name: "sign", run: ({ text }) => ({ text: `${text}.`, length: text.length }) },
      ],
      "bees",
    );
    const text: string = essay.text;
    expect([text, essay.length]).toEqual(["bees can dance.", 14]);
  });

  it("goes on after the newest checkpoint that can be read, and says that the next step may have begun", async () => {
    const rouse = scriptedRouse();
    rouse.script.chain = [kept("c3", 3, "c", {}), kept("c2", 2, "b", { done: ["a", "b"] })];
    rouse.script.instead = ({ path }) => (path.endsWith("/c3") ? problem(404, "checkpoint-unknown") : undefined);
    const { agent } = rouse.agent({ task: "t" });
    const { ran, list } = listOf("a", "b", "c", "d");
    expect(await agent.steps(list, start)).toEqual({ done: ["a", "b", "c", "d"] });
    expect(ran.map(({ number, again }) => [number, again])).toEqual([
      [3, true],
      [4, false],
    ]);
    expect(rouse.saved()[0]).toMatchObject({ step: 3, parent: "c2" });
  });

  it("starts with step 1 where only its beginning was saved, and that may be for the second time", async () => {
    const rouse = scriptedRouse();
    rouse.script.chain = [kept("c0", 0, "", { done: [] })];
    const { agent } = rouse.agent({ task: "t" });
    const { ran, list } = listOf("a");
    await agent.steps(list, start);
    expect(ran).toEqual([{ number: 1, key: "t/1/a", again: true }]);
  });

  it("runs nothing when all is done", async () => {
    const rouse = scriptedRouse();
    rouse.script.chain = [kept("c1", 1, "a", { done: ["a"] })];
    const { agent } = rouse.agent({ task: "t" });
    const { ran, list } = listOf("a");
    expect(await agent.steps(list, start)).toEqual({ done: ["a"] });
    expect(ran).toEqual([]);
  });

  it("that has changed is refused in words", async () => {
    const rouse = scriptedRouse();
    rouse.script.chain = [kept("c2", 2, "b", {})];
    const { agent } = rouse.agent({ task: "t" });
    await expect(agent.steps(listOf("a", "B", "c").list, start)).rejects.toThrow(
      'completed step 2 as "b", and the list calls it "B"',
    );
    await expect(agent.steps(listOf("a").list, start)).rejects.toThrow("the list has only 1");
    await expect(agent.steps(listOf("a", "a").list, start)).rejects.toThrow("two steps are called a");
  });

  it("whose earlier steps have changed is refused, too, but not for what another life gave up", async () => {
    const rouse = scriptedRouse();
    const from = (parent: string | null, one: ReturnType<typeof kept>) => ({ ...one, parent });
    rouse.script.chain = [
      from("c2", kept("c3", 3, "c", start)),
      from("c1", kept("c2", 2, "b", start)),
      from("c1", kept("given-up", 2, "other", start)),
      from(null, kept("c1", 1, "a", start)),
    ];
    const { agent } = rouse.agent({ task: "t" });
    const { ran, list } = listOf("a", "NEW", "c", "d");
    await expect(agent.steps(list, start)).rejects.toThrow('completed step 2 as "b", and the list calls it "NEW"');
    expect(ran).toEqual([]);
    await agent.steps(listOf("a", "b", "c", "d").list, start);
  });

  it.each([[undefined], [{}], [[() => 1]], [[{ name: "a" }]], [[null]]])(
    "that is none, such as %j, is refused in words",
    async (odd) => {
      const { agent } = scriptedRouse().agent({ task: "t" });
      await expect(agent.steps(odd as never, start)).rejects.toThrow("steps are a list such as [{ name");
    },
  );

  it("throws what a step throws, untouched, and what it returns must be JSON", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent({ task: "t" });
    const oops = new Error("oops");
    const failing = agent.steps([{ name: "a", run: () => Promise.reject(oops) }], start);
    await expect(failing).rejects.toBe(oops);
    await expect(agent.steps<unknown>([{ name: "a", run: () => ({ at: new Date() }) }], {})).rejects.toThrow(
      "the state cannot be saved",
    );
  });

  it("goes on from what Rouse left on disk when Rouse itself cannot be asked", async () => {
    const rouse = scriptedRouse();
    rouse.script.instead = () => ({ status: 401, body: problem(401, "unauthorized").body });
    const { mkdtempSync, writeFileSync, rmSync } = await import("node:fs");
    const folder = mkdtempSync("/tmp/rouse-sdk-");
    writeFileSync(`${folder}/state.json`, JSON.stringify({ done: ["a"] }));
    const recovery = {
      taskId: "t",
      checkpoint: "c1",
      step: 1,
      stepName: "a",
      reason: "r",
      attempt: 1,
      stateFile: `${folder}/state.json`,
      lost: { checkpoints: 0, steps: 0, flaws: [], startsOver: false },
    };
    const { agent } = rouse.agent({ task: "t", env: { ROUSE_RECOVERY: JSON.stringify(recovery) } });
    const { ran, list } = listOf("a", "b");
    expect(await agent.steps(list, start)).toEqual({ done: ["a", "b"] });
    expect(ran.map(({ number }) => number)).toEqual([2]);
    rmSync(folder, { recursive: true });
  });

  it.each([
    ["an address below that of Rouse", problem(404, "not-found", "no such path")],
    ["a token of another agent", problem(403, "forbidden", "only for x")],
  ])("runs, and its checkpoints wait, with %s", async (_, answer) => {
    const rouse = scriptedRouse();
    // No later try makes it go on.
    rouse.script.instead = ({ path }) =>
      path === "/api/v1/agents" && rouse.to(path).length > 1 ? new Promise(() => undefined) : answer;
    const { agent } = rouse.agent({ task: "t" });
    await rouse.until(() => agent.connection().state === "refused");
    const { ran, list } = listOf("a", "b");
    expect(await agent.steps(list, start)).toEqual({ done: ["a", "b"] });
    expect(ran).toHaveLength(2);
    expect(await agent.checkpoint(2, {})).toEqual({ state: "queued", step: 2 });
  });

  it("runs with one warning when Rouse started the agent without this task, whose token may not name it", async () => {
    const rouse = scriptedRouse();
    rouse.script.instead = ({ path }) =>
      path.includes("/tasks/") ? problem(403, "forbidden", "only for w, and may not name task t") : undefined;
    const env = { ROUSE_AGENT_ID: "w", ROUSE_TOKEN: "t", ROUSE_INCARNATION: "1" };
    const { agent, warnings } = rouse.agent({ task: "t", token: undefined, env } as never);
    const { list } = listOf("a", "b");
    expect(await agent.steps(list, start)).toEqual({ done: ["a", "b"] });
    expect(warnings).toEqual([
      expect.stringMatching(/may not name task t\. Start the agent with it: rouse spawn --task t$/),
    ]);
  });

  it("starts over with a warning when nobody can say where the task stands", async () => {
    const rouse = scriptedRouse();
    rouse.script.instead = () => ({ status: 200, body: "<html>" });
    const { agent, warnings } = rouse.agent({ task: "t" });
    const { ran, list } = listOf("a");
    await agent.steps(list, start);
    expect(ran).toHaveLength(1);
    expect(warnings.at(-1)).toContain("nobody can say where task t stands");
  });
});
