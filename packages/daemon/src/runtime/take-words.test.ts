import { describe, expect, it } from "vitest";
import { readConfig, requireConfig } from "../config/read-config.ts";
import { takeWords } from "./take-words.ts";
import { dawn, exited, type TaskWorld, taskWorld } from "./task-world.test-support.ts";

function wordsIn(world: TaskWorld) {
  const config = requireConfig(readConfig({}));
  return takeWords({ ...world, clock: { toWall: (at) => dawn + at }, config: () => config });
}

describe("a person's words to an agent", () => {
  it("wait for its next heartbeat", async () => {
    const world = await taskWorld();
    world.beats({ agentId: "a", status: "RUNNING" });
    expect(await wordsIn(world).nudge("a", "ann", "go on")).toMatchObject({ state: "queued", message: "go on" });
  });

  it("that cannot be sent are answered with the one reason that holds", async () => {
    const world = await taskWorld();
    world.beats({ agentId: "beats", status: "RUNNING" });
    world.holds({ agentId: "typed-to", input: "terminal" });
    world.holds({ agentId: "deaf" });
    world.holds({ agentId: "gone", input: "terminal" });
    world.reports("gone", 1, exited({ code: 0 }));
    world.doubt.freeze({ since: 0, actor: "ann", reason: "a look at it" });
    const { nudge } = wordsIn(world);
    const why = async (agentId: string) => (await nudge(agentId, "ann", "go on")).because;
    const frozen = "all interventions are frozen; `rouse thaw` allows them again";
    expect(await why("beats")).toBe(frozen);
    expect(await why("typed-to")).toBe(frozen);
    expect(await why("deaf")).toBe("it sends no heartbeats and takes no input");
    expect(await why("gone")).toBe("it has ended");
  });
});
