import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "@rouse/holder/load-sqlite";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { openFileStates } from "../adapters/states-files/open-file-states.ts";
import { type BundledStore, bundleStore } from "../adapters/store-sqlite/bundle-for-tests.ts";
import { openSqliteStore } from "../adapters/store-sqlite/open-sqlite-store.ts";
import { type CheckpointWorld, largeState, openCheckpointWorld, task } from "./checkpoint-world.test-support.ts";

let bundled: BundledStore;
let folder = "";
beforeAll(async () => {
  bundled = await bundleStore();
});
afterAll(() => bundled.remove());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-checkpoints-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function inWorld<T>(use: (world: CheckpointWorld) => Promise<T>): Promise<T> {
  const store = await openSqliteStore({ folder, workerFile: bundled.workerFile });
  try {
    return await use(await openCheckpointWorld({ store, states: await openFileStates(folder) }));
  } finally {
    await store.close();
  }
}

function inDatabase(statement: string, ...values: unknown[]): void {
  const database = new DatabaseSync(join(folder, "rouse.db"));
  expect(database.prepare(statement).run(...values).changes).toBe(1);
  database.close();
}

const why = { reason: "its process ended", attempt: 1 };

it("a chain outlives the monitor, and whatever is done to its rows is found and got round", async () => {
  const [first, second, third, fourth] = await inWorld((world) =>
    Promise.all([
      world.save(1),
      world.save(2, { state: largeState("two") }),
      world.save(3, { stepName: "née ✓" }),
      world.save(4),
    ]),
  );
  await inWorld(async ({ checkpoints }) => {
    expect((await checkpoints.list(task, 10)).checkpoints).toEqual([fourth, third, second, first]);
    expect((await checkpoints.verify(task)).sound).toBe(true);
  });

  inDatabase("UPDATE checkpoints SET head = replace(head, '\"step\":4', '\"step\":9') WHERE id = ?", fourth.id);
  await inWorld(async ({ checkpoints }) => {
    const { context } = await checkpoints.contextFor(task, why);
    expect(context).toMatchObject({ checkpoint: third.id, step: 3 });
    expect(context.lost).toMatchObject({ checkpoints: 1, steps: null, flaws: ["head-changed"] });
  });

  inDatabase("DELETE FROM checkpoints WHERE id = ?", second.id);
  await inWorld(async ({ checkpoints, folder: _, ...world }) => {
    expect((await checkpoints.verify(task)).checks.map(({ flaws }) => flaws)).toEqual([
      ["head-changed", "parent-flawed"],
      ["parent-missing"],
      [],
    ]);
    expect((await checkpoints.contextFor(task, why)).context.checkpoint).toBe(third.id);
    // Its file is nobody's now.
    expect(await world.states.list(null, 10)).toEqual([second.stateHash]);
    while (await checkpoints.forget(0));
    expect(await world.states.list(null, 10)).toEqual([]);
    // Whoever goes on from the one that is right has a chain again.
    const again = await world.save(4, { parent: third.id });
    expect(again).toMatchObject({ number: 5, parent: third.id });
    expect((await checkpoints.contextFor(task, why)).context).toMatchObject({ checkpoint: again.id, step: 4 });
  });
});
