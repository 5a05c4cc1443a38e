import { Heartbeat } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { scriptedRouse } from "./scripted-rouse.test-support.ts";

const nudge = (id: string, because = "reminder") => ({ id, kind: "nudge", because, message: "FACT: nothing new." });

/** Says it with every acknowledgement until a beat names it, as Rouse does. */
const saying =
  (command: { id: string }) =>
  ({ seen }: { seen?: string[] | undefined }) =>
    seen?.includes(command.id) ? [] : [command];

describe("a nudge", () => {
  it("is read by the agent once a handler has taken it, and what that returns is the answer", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent();
    const heard: string[] = [];
    agent.onNudge(({ because, message }) => {
      heard.push(`${because}: ${message}`);
      return "looking into it";
    });
    rouse.script.commands = saying(nudge("n1"));
    const beat = await rouse.until(() => rouse.beats().find(({ seen }) => seen?.includes("n1")));
    expect(beat).toMatchObject({ seen: ["n1"], seenBy: "agent" });
    const answer = await rouse.until(() => rouse.beats().find((one) => one.answer !== undefined));
    expect(answer.answer).toEqual({ to: "n1", kind: "update", text: "looking into it" });
    expect(heard).toEqual(["reminder: FACT: nothing new."]);
  });

  it("is given to the agent once, however often Rouse says it, and that it was read is told at once", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent({ beatEveryMs: 3_600_000 });
    const heard: string[] = [];
    agent.onNudge(({ id }) => void heard.push(id));
    rouse.script.commands = () => [nudge("n1")];
    await rouse.until(() => rouse.beats().some(({ seen }) => seen?.includes("n1")));
    const end = agent.waiting("provider");
    await rouse.until(() => rouse.beats().at(-1)?.status === "WAITING");
    end();
    await rouse.until(() => rouse.beats().at(-1)?.status === "RUNNING");
    expect(heard).toEqual(["n1"]);
    expect(rouse.beats().filter(({ seen }) => seen !== undefined)).toHaveLength(1);
  });

  it("is answered in a thousand characters at most, with a beat at once", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent({ beatEveryMs: 3_600_000 });
    agent.onNudge((one) => one.answer("update", "x".repeat(5000)));
    rouse.script.commands = saying(nudge("n1"));
    const beat = await rouse.until(() => rouse.beats().find((one) => one.answer !== undefined));
    expect(beat.answer?.text).toBe("x".repeat(1000));
  });

  it("without a handler is read by the program only, and waits for one", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent();
    rouse.script.commands = saying(nudge("n1"));
    const beat = await rouse.until(() => rouse.beats().find(({ seen }) => seen?.includes("n1")));
    expect(beat.seenBy).toBe("program");
    const heard: string[] = [];
    agent.onNudge(({ id }) => heard.push(id));
    await rouse.until(() => rouse.beats().some(({ seen, seenBy }) => seen?.includes("n1") && seenBy === "agent"));
    expect(heard).toEqual(["n1"]);
  });

  it("counts as unread when its handler fails, and the agent works on", async () => {
    const rouse = scriptedRouse();
    const { agent, warnings } = rouse.agent();
    const stopListening = agent.onNudge(() => {
      throw new Error("oops");
    });
    rouse.script.commands = saying(nudge("n1"));
    await rouse.until(() => warnings.length === 1);
    expect(warnings[0]).toContain("onNudge failed: Error: oops");
    expect(rouse.beats().some(({ seen }) => seen !== undefined)).toBe(false);
    stopListening();
  });

  it("to hand over goes to onHandoff, and its answer is that the agent wants to", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent();
    agent.onHandoff(() => "all is in NOTES.md");
    rouse.script.commands = saying(nudge("h1", "hand-off"));
    const beat = await rouse.until(() => rouse.beats().find((one) => one.answer !== undefined));
    expect(beat.answer).toEqual({ to: "h1", kind: "handoff", text: "all is in NOTES.md" });
  });

  it("that its task was taken stops the agent", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent({ task: "t" });
    const stopped = new Promise((resolve) => agent.onStop(resolve));
    rouse.script.commands = saying(nudge("t1", "task-taken"));
    expect(await stopped).toMatchObject({ because: "task-taken" });
    expect(agent.signal.aborted).toBe(true);
    await rouse.until(() => rouse.beats().some(({ seen, seenBy }) => seen?.includes("t1") && seenBy === "agent"));
    const late = await new Promise((resolve) => agent.onStop(resolve));
    expect(late).toMatchObject({ because: "task-taken" });
  });
});

it("a check-in is answered with a beat at once, which tells every breaker that is not closed", async () => {
  const rouse = scriptedRouse();
  const { agent } = rouse.agent({ beatEveryMs: 3_600_000, breakers: { x: { failureThreshold: 1 } } });
  await rouse.until(() => rouse.beats().length === 1);
  await agent
    .breaker("x")
    .run(() => Promise.reject(new Error("down")))
    .catch(() => undefined);
  let left = 1;
  rouse.script.commands = () => (left-- > 0 ? [{ id: "c", kind: "check-in", because: "blind" }] : []);
  await rouse.until(() => rouse.beats().filter(({ breakers }) => breakers?.[0]?.operation === "x").length === 2);
});

it("where to go on may also come with the first acknowledgement", async () => {
  const rouse = scriptedRouse();
  const recovery = {
    taskId: "t",
    checkpoint: null,
    step: null,
    stepName: null,
    reason: "STUCK",
    attempt: 1,
    stateFile: null,
    workspace: null,
    lost: { checkpoints: 0, steps: 0, flaws: [], startsOver: true },
  };
  rouse.script.commands = () => [{ id: "r", kind: "recovery", because: "brought-back", recovery }];
  const { agent } = rouse.agent();
  expect(agent.recovered).toBeNull();
  await rouse.until(() => agent.recovered !== null);
  expect(agent.recovered).toEqual(recovery);
});

it("answers that make no sense, and a wrong word of the author's, reach nobody", async () => {
  const rouse = scriptedRouse();
  const { agent, warnings } = rouse.agent({
    onWarning: (text) => {
      warnings.push(text);
      throw new Error("no paper");
    },
  });
  rouse.script.commands = () => [null as never, { id: 7, kind: "dance" }, { kind: "recovery", id: "x", recovery: [] }];
  await rouse.until(() => rouse.beats().length >= 2);
  rouse.script.commands = () => [];
  agent.phase(Object.create(null));
  agent.tokens("9" as never);
  agent.context(Number.NaN);
  agent.waiting("provider", Number.POSITIVE_INFINITY);
  const beat = await rouse.until(() => rouse.beats().find(({ status }) => status === "WAITING"));
  expect(beat).toMatchObject({ phase: "", waitingFor: "provider", waitingUntil: expect.any(String) });
  expect(beat.tokenCount).toBeUndefined();
  expect(warnings).toEqual([expect.stringContaining("an answer could not be understood")]);
});

it("a wrong word of the author's goes into no beat, where Rouse would refuse it and every beat after it", async () => {
  const rouse = scriptedRouse();
  const { agent, warnings } = rouse.agent({ breakers: { "über/a b": { failureThreshold: 1 } } });
  rouse.script.commands = saying(nudge("n1"));
  agent.onNudge(({ answer }) => answer("done" as never, Object.create(null)));
  agent.onNudge(() => {
    throw Object.create(null);
  });
  agent.waiting("lunch" as never);
  const fails = (): never => {
    throw new Error("no");
  };
  for (const name of ["über/a b", "/../x", "", "x".repeat(300)]) {
    const breaker = agent.breaker(name, { failureThreshold: 1 });
    await breaker.run(fails).catch(() => undefined);
  }
  await rouse.until(() => rouse.beats().some(({ breakers }) => breakers !== undefined) && warnings.length > 0);
  await rouse.until(() => rouse.beats().some(({ answer }) => answer !== undefined));
  for (const beat of rouse.beats()) expect(() => Heartbeat.parse(beat)).not.toThrow();
  const told = rouse.beats().flatMap(({ breakers = [] }) => breakers.map(({ operation }) => operation));
  expect(new Set(told)).toEqual(new Set(["ber/a_b", "x", "operation", "x".repeat(200)]));
  expect(rouse.beats().find(({ answer }) => answer !== undefined)?.answer).toEqual({
    to: "n1",
    kind: "update",
    text: "",
  });
  expect(rouse.beats().find(({ status }) => status === "WAITING")?.waitingFor).toBe("schedule");
  expect(warnings).toEqual(["a handler of onNudge failed: "]);
});

describe("an answer that no Rouse gives", () => {
  it("keeps no command from being heard, and no beat from being taken", async () => {
    const rouse = scriptedRouse();
    const { agent, warnings } = rouse.agent();
    const heard: string[] = [];
    agent.onNudge(({ id }) => heard.push(id));
    const odd = [null, 5, "x", [], {}, { ...nudge("o1"), message: {} }, { ...nudge("o2"), id: 7 }];
    const long = { id: "x".repeat(401), kind: "reset-breaker", because: "", breaker: "x" };
    rouse.script.commands = () => [...odd, long, nudge("n1")] as object[];
    await rouse.until(() => rouse.beats().some(({ seen }) => seen?.includes("n1")));
    await rouse.until(() => rouse.beats().at(-1)?.seen === undefined);
    expect(heard).toEqual(["n1"]);
    expect(new Set(rouse.beats().flatMap(({ seen = [] }) => seen))).toEqual(new Set(["n1"]));
    expect(warnings).toEqual([expect.stringContaining("an answer could not be understood")]);
  });

  it("with ten thousand commands is read in part: what is remembered of them has an end", async () => {
    const rouse = scriptedRouse();
    rouse.agent();
    let answers = 0;
    rouse.script.commands = () => {
      answers += 1;
      return answers > 1 ? [] : Array.from({ length: 10_000 }, (_, i) => nudge(`n${i}`));
    };
    await rouse.until(() => answers > 1 && rouse.beats().at(-1)?.seen === undefined);
    expect(rouse.beats().flatMap(({ seen = [] }) => seen)).toHaveLength(100);
  });
});

it("one beat names twenty receipts at most: the rest goes with the next", async () => {
  const rouse = scriptedRouse();
  rouse.agent();
  const ids = Array.from({ length: 45 }, (_, n) => `r${n}`);
  rouse.script.commands = () => ids.map((id) => ({ id, kind: "reset-breaker", because: "a person reset it" }));
  const seen = () => rouse.beats().flatMap((beat) => beat.seen ?? []);
  await rouse.until(() => new Set(seen()).size === 45);
  for (const beat of rouse.beats()) expect((beat.seen ?? []).length).toBeLessThanOrEqual(20);
  expect(seen()).toHaveLength(45);
});
