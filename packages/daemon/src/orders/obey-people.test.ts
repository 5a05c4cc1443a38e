import { describe, expect, it } from "vitest";
import { exited, stopped, type TaskWorld, taskWorld } from "../tasks/task-world.test-support.ts";
import { obeyPeople } from "./obey-people.ts";

const ann = { actor: "ann", reason: "I say so", force: true };
const byUs = exited({ signal: "SIGTERM", cause: "stopped" });

/** `impatient`: nobody waits for an answer any longer than it takes to ask. */
function peopleIn(world: TaskWorld, impatient = false) {
  const after = (_: number, call: () => void) => {
    if (impatient) queueMicrotask(call);
    return () => undefined;
  };
  return obeyPeople({ ...world, after });
}

const ordersIn = ({ actions }: TaskWorld): string[] =>
  actions.flatMap((action) =>
    action.kind === "stop-agent" || action.kind === "restart-agent" ? [`${action.kind} ${action.incarnation}`] : [],
  );

describe("an order to stop", () => {
  it("is answered with how it went", async () => {
    const world = await taskWorld();
    world.holds({ agentId: "a" });
    const answer = peopleIn(world).terminate("a", ann);
    await world.handsAnswer("save-work", { kind: "work", work: { kind: "nothing-to-save" } });
    await world.handsAnswer("stop-agent", { kind: "stop", stop: stopped });
    expect(await answer).toEqual({ agentId: "a", outcome: "stopped", forced: false });
  });

  it("is answered with what became of a turn in a server that others use", async () => {
    const world = await taskWorld();
    world.holds({ agentId: "a" });
    const answer = peopleIn(world).terminate("a", ann);
    await world.handsAnswer("save-work", { kind: "work", work: { kind: "nothing-to-save" } });
    await world.handsAnswer("stop-agent", {
      kind: "stop",
      stop: { kind: "stopped", forced: false, processes: 1, sharedTurn: "interrupted" },
    });
    expect(await answer).toMatchObject({ outcome: "stopped", sharedTurn: "interrupted" });
  });

  it("takes over a stop that is under way: it is answered by that, and nobody is started again after it", async () => {
    const world = await taskWorld();
    world.holds({ agentId: "a" });
    const recovered = peopleIn(world).recover("a", ann);
    await world.handsAnswer("save-work", { kind: "work", work: { kind: "nothing-to-save" } });
    await world.saved();
    const answer = peopleIn(world).terminate("a", ann);
    await world.saved();
    world.reports("a", 1, byUs);
    await world.handsAnswer("stop-agent", { kind: "stop", stop: stopped });
    expect(await answer).toEqual({ agentId: "a", outcome: "stopped", forced: false });
    await world.saved();
    expect(ordersIn(world)).toEqual(["stop-agent 1"]);
    expect(await Promise.race([recovered, "still waiting"])).toBe("still waiting");
  });

  it("takes over also one that has to go out again, and is answered by how that went", async () => {
    const world = await taskWorld();
    world.holds({ agentId: "a" });
    void peopleIn(world).recover("a", ann);
    await world.handsAnswer("save-work", { kind: "work", work: { kind: "nothing-to-save" } });
    await world.saved();
    const answer = peopleIn(world).terminate("a", ann);
    await world.saved();
    await world.handsAnswer("stop-agent", { kind: "interrupted" });
    await world.handsAnswer("stop-agent", { kind: "stop", stop: stopped });
    expect(ordersIn(world)).toEqual(["stop-agent 1", "stop-agent 1"]);
    expect(await answer).toEqual({ agentId: "a", outcome: "stopped", forced: false });
  });

  it("of one that is just being started again is for the life that begins", async () => {
    const world = await taskWorld();
    world.holds({ agentId: "a" });
    world.reports("a", 1, exited({ code: 1 }));
    await world.saved();
    expect(ordersIn(world)).toEqual(["restart-agent 1"]);
    const answer = peopleIn(world).terminate("a", ann);
    await world.saved();
    world.holds({ agentId: "a", incarnation: 2, pid: 4243 });
    await world.saved();
    await world.handsAnswer("save-work", { kind: "work", work: { kind: "nothing-to-save" } });
    await world.handsAnswer("stop-agent", { kind: "stop", stop: stopped });
    expect(await answer).toMatchObject({ outcome: "stopped" });
    expect(ordersIn(world)).toEqual(["restart-agent 1", "stop-agent 2"]);
  });

  it("goes on when nobody waits for the answer any more", async () => {
    const world = await taskWorld();
    world.holds({ agentId: "a" });
    expect(await peopleIn(world, true).terminate("a", ann)).toEqual({ agentId: "a", outcome: "under-way" });
    expect(world.actions.map(({ kind }) => kind)).toEqual(["save-work"]);
  });

  it("is refused for an agent that Rouse did not start, and that is on record", async () => {
    const world = await taskWorld();
    world.beats({ agentId: "a" });
    await expect(peopleIn(world).recover("a", ann)).rejects.toMatchObject({ code: "not-supervised" });
    expect(
      (await world.store.readAudit({ limit: 10 })).map(({ actor, action, reason }) => [actor, action, reason]),
    ).toEqual([
      [ann.actor, "order-restart", ann.reason],
      ["rouse", "order-refused", "not-supervised"],
    ]);
  });

  it("is refused in a freeze, whatever was under way before", async () => {
    const world = await taskWorld();
    world.holds({ agentId: "a" });
    world.doubt.freeze({ since: 0, actor: "ann", reason: "a look at it" });
    await expect(peopleIn(world).terminate("a", ann)).rejects.toMatchObject({ code: "order-refused" });
  });
});
