import { expect, it } from "vitest";
import { openMemoryStates } from "../adapters/states-memory/open-memory-states.ts";
import { noWorkspaces } from "../ports/workspaces.ts";
import { taskWorld } from "../tasks/task-world.test-support.ts";
import { attendCheckpoints } from "./attend-checkpoints.ts";
import { keepCheckpoints } from "./keep-checkpoints.ts";

it("a task knows its newest checkpoint, and misses it when it is gone", async () => {
  const world = await taskWorld();
  const { store, commits, readClock, roster, engine, agents, tasks, disk } = world;
  const checkpoints = keepCheckpoints({
    store,
    states: openMemoryStates(new Map()),
    commits,
    readClock,
    saveEvents: engine.saveEvents,
    ...attendCheckpoints({ roster, agents, tasks, workspaces: noWorkspaces, folderOf: () => null }),
  });
  const speaker = { agentId: null, incarnation: null };
  const first = await checkpoints.save("t", { step: 1 }, speaker);
  const second = await checkpoints.save("t", { step: 2 }, speaker);
  expect((await checkpoints.verify("t")).sound).toBe(true);
  disk.checkpoints.delete(second.checkpoint.id);
  disk.checkpointsOf.get("t")?.pop();
  const { context } = await checkpoints.contextFor("t", { reason: "it crashed", attempt: 1 });
  expect(context).toMatchObject({ checkpoint: first.checkpoint.id, lost: { checkpoints: 1, flaws: ["missing"] } });
  expect((await checkpoints.verify("t")).sound).toBe(false);
});
