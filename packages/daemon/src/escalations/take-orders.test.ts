import { describe, expect, it } from "vitest";
import { readConfig, requireConfig } from "../config/read-config.ts";
import { dawn, exited, type TaskWorld, taskWorld } from "../tasks/task-world.test-support.ts";
import { takeOrders } from "./take-orders.ts";

function ordersIn(world: TaskWorld) {
  const config = requireConfig(readConfig({}));
  return takeOrders({ ...world, toWall: (at) => dawn + at, config: () => config });
}

describe("a person's order to nudge an agent", () => {
  it("waits for its next heartbeat", async () => {
    const world = await taskWorld();
    world.beats({ agentId: "a", status: "RUNNING" });
    expect(await ordersIn(world).nudge("a", "ann", "go on")).toMatchObject({ state: "queued", message: "go on" });
  });

  it("that cannot be carried out is answered with the one reason that holds", async () => {
    const world = await taskWorld();
    world.beats({ agentId: "beats", status: "RUNNING" });
    world.holds({ agentId: "typed-to", input: "terminal" });
    world.holds({ agentId: "deaf", family: "codex" });
    world.holds({ agentId: "unknown" });
    world.holds({ agentId: "gone", input: "terminal" });
    world.reports("gone", 1, exited({ code: 0 }));
    world.doubt.freeze({ since: 0, actor: "ann", reason: "a look at it" });
    const { nudge } = ordersIn(world);
    const why = async (agentId: string) => (await nudge(agentId, "ann", "go on")).because;
    const frozen = "all interventions are frozen; `rouse thaw` allows them again";
    expect(await why("beats")).toBe(frozen);
    expect(await why("typed-to")).toBe(frozen);
    expect(await why("deaf")).toBe("it sends no heartbeats and takes no input while it works");
    expect(await why("unknown")).toBe(
      "it sends no heartbeats, and Rouse types into no program that it does not know; `rouse attach unknown` lets you",
    );
    expect(await why("gone")).toBe("it has ended");
  });
});

const trailOf = async ({ store }: TaskWorld): Promise<string[]> =>
  (await store.readAudit({ limit: 100 })).map(({ actor, action, subject, reason, evidence }) =>
    [actor, action, subject, reason, JSON.stringify(evidence)].join(" "),
  );

describe("what came of a person's order is on record", () => {
  it("also of who came second, or too late", async () => {
    const world = await taskWorld();
    world.beats({ agentId: "a", status: "RUNNING" });
    const { escalate, decide, acknowledge } = ordersIn(world);
    await escalate("a", "ann", "it looks odd");
    const more = { decision: "allow_more_time", actor: "ann", reason: "a build" } as const;
    const stop = { decision: "terminate_and_recover", actor: "bob", reason: "enough" } as const;
    const [first, second] = await Promise.all([decide("a.1", more), decide("a.1", stop)]);
    expect(first).toEqual({ outcome: "taken" });
    expect(second).toMatchObject({ outcome: "over", ended: { how: "decided", actor: "ann" } });
    expect(await acknowledge("a.1", "cid")).toMatchObject({ outcome: "over" });
    expect((await trailOf(world)).slice(-4)).toEqual([
      'bob order-decision a enough {"escalation":"a.1","decision":"terminate_and_recover"}',
      'rouse order-refused a decided {"order":"decision","escalation":"a.1","decision":"terminate_and_recover"}',
      'cid order-acknowledgement a acknowledged {"escalation":"a.1"}',
      'rouse order-refused a decided {"order":"acknowledgement","escalation":"a.1"}',
    ]);
  });

  it("but not of an answer to what was never asked", async () => {
    const world = await taskWorld();
    world.beats({ agentId: "a", status: "RUNNING" });
    const { decide } = ordersIn(world);
    for (const id of ["a.1", "b.1", "a", ""])
      expect(await decide(id, { decision: "force_handoff", actor: "ann", reason: "" })).toEqual({ outcome: "unknown" });
    expect(await trailOf(world)).toEqual([]);
  });

  it("when nobody can be asked, and when there is no way to an agent", async () => {
    const world = await taskWorld();
    world.holds({ agentId: "gone" });
    world.reports("gone", 1, exited({ code: 0 }));
    const { escalate, nudge } = ordersIn(world);
    await expect(escalate("gone", "ann", "it looks odd")).rejects.toMatchObject({ code: "order-refused" });
    await nudge("gone", "ann", "go on");
    expect(await trailOf(world)).toEqual([
      "ann order-escalation gone it looks odd {}",
      'rouse order-refused gone nothing-to-ask {"order":"escalation"}',
      "ann order-nudge gone operator {}",
      'rouse order-refused gone it has ended {"order":"nudge"}',
    ]);
  });
});

it("whoever checks in for a former life is refused", async () => {
  const world = await taskWorld();
  const { checkIn } = ordersIn(world);
  for (const incarnation of [1, 2]) world.beats({ agentId: "a", incarnation });
  await expect(checkIn("a", 1)).rejects.toMatchObject({ code: "forbidden" });
  expect(await checkIn("a", 2)).toMatchObject({ agentId: "a" });
});
