import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, readPragma } from "@rouse/holder/load-sqlite";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { storeConformance } from "../../ports/store.conformance.ts";
import { emptyCommit, type SavedSignal, type Store } from "../../ports/store.ts";
import { type BundledStore, bundleStore } from "./bundle-for-tests.ts";
import { migrations } from "./migrations.ts";
import { openSqliteStore } from "./open-sqlite-store.ts";

let bundled: BundledStore;
let folder: string;
beforeAll(async () => {
  bundled = await bundleStore();
});
afterAll(() => bundled.remove());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-store-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (where = folder, shard = 0) => openSqliteStore({ folder: where, shard, workerFile: bundled.workerFile });

storeConformance("store on SQLite", async () => {
  const first = await open();
  const opened: Store[] = [first];
  const remember = (store: Store) => {
    opened.push(store);
    return store;
  };
  return {
    store: first,
    openSecond: async () => remember(await open()),
    openShard: async (shard) => remember(await open(folder, shard)),
    reopen: async (shard = 0) => {
      // What the disk holds at this moment, without the first having been closed. Copied by another process, because SQLite's
      // locks are lost when this one closes any descriptor of the file.
      const copy = join(folder, `copy-${opened.length}`);
      mkdirSync(copy);
      const file = join(folder, shard === 0 ? "rouse.db" : `rouse-${shard}.db`);
      execFileSync("cp", [file, `${file}-wal`, copy]);
      return remember(await open(copy, shard));
    },
    cleanup: async () => {
      await Promise.all(opened.map((store) => store.close()));
    },
  };
});

describe("a store on SQLite with many signals", () => {
  it("finds the signals of every agent again after a start, however long ago and in whatever order they came", {
    timeout: 30_000,
  }, async () => {
    const store = await open();
    await store.commit({ ...emptyCommit, signals: [beat(1, 500), beat(3, 500)] });
    for (let first = 1001; first < 80_000; first += 2000) {
      const signals = Array.from({ length: 2000 }, (_, i) => beat(first + i, i % 50));
      await store.commit({ ...emptyCommit, signals });
    }
    await store.commit({ ...emptyCommit, signals: [beat(2, 500), beat(500, 501), beat(501, 501)] });
    await store.close();

    const again = await open();
    const idsOf = async (agentNo: number) => (await again.readBeats(agentNo, 1e6)).map(({ id }) => id);
    expect(await idsOf(500)).toEqual([3, 2, 1]);
    expect(await idsOf(501)).toEqual([501, 500]);
    expect(await idsOf(7)).toEqual(Array.from({ length: 1600 }, (_, i) => 1008 + 50 * i).reverse());
    expect((await again.resume()).signals).toHaveLength(80_005);
    await again.close();
  });
});

const beat = (id: number, agentNo = 1): SavedSignal => ({
  id,
  agentNo,
  at: id,
  time: id,
  kind: "heartbeat",
  body: "{}",
});

describe("opening a store on SQLite", () => {
  const path = () => join(folder, "rouse.db");

  it("makes a database that only its owner can read out of nothing, or out of an empty file", async () => {
    writeFileSync(path(), "", { mode: 0o644 });
    const store = await open();
    await store.commit({ ...emptyCommit, signals: [beat(1)] });
    const modes = readdirSync(folder).map((file) => [file, (statSync(join(folder, file)).mode & 0o777).toString(8)]);
    expect(Object.fromEntries(modes)).toEqual({
      "lock.db": "600",
      "rouse.db": "600",
      "rouse.db-shm": "600",
      "rouse.db-wal": "600",
    });
    await store.close();
    expect(readdirSync(folder)).toEqual(["lock.db", "rouse.db"]);
    const db = new DatabaseSync(path(), { readOnly: true });
    expect(readPragma(db, "user_version")).toBe(migrations.length);
    expect(readPragma(db, "integrity_check")).toBe("ok");
    db.close();
  });

  it("takes up a database it has closed", async () => {
    for (let id = 1; id <= 3; id++) {
      const store = await open();
      await store.commit({ ...emptyCommit, signals: [beat(id)] });
      await store.close();
    }
    const store = await open();
    expect((await store.readBeats(1, 9)).map(({ id }) => id)).toEqual([3, 2, 1]);
    await store.close();
  });

  it("does not touch a database that a newer Rouse has written", async () => {
    await (await open()).close();
    const db = new DatabaseSync(path());
    db.exec("PRAGMA user_version = 99");
    db.close();
    const before = readFileSync(path());
    const refusal = await open().catch((error: unknown) => error);
    expect(refusal).toMatchObject({ name: "Fault", code: "database-newer" });
    expect((refusal as Error).message).toMatch(
      new RegExp(`version 99.*up to ${migrations.length}.*Install a newer Rouse.*ROUSE_HOME`),
    );
    expect(readFileSync(path()).equals(before)).toBe(true);
  });

  it.each<[string, () => Promise<void>]>([
    ["random bytes", async () => writeFileSync(path(), randomBytes(20_000))],
    ["a few bytes", async () => writeFileSync(path(), "hello")],
    ["a database cut off in the middle", cutOffInTheMiddle],
    [
      "somebody else's database",
      async () => {
        const db = new DatabaseSync(path());
        db.exec("CREATE TABLE theirs (x)");
        db.close();
      },
    ],
  ])("does not touch %s, and says what to do", async (_, damage) => {
    await damage();
    const before = readFileSync(path());
    const refusal = await open().catch((error: unknown) => error);
    expect(refusal).toMatchObject({ name: "Fault", code: "database-damaged", retryable: false });
    expect((refusal as Error).message).toMatch(/rouse\.db.*left untouched.*move it aside/);
    expect(readFileSync(path()).equals(before)).toBe(true);
    rmSync(path());
    await (await open()).close();
  });

  it("takes nothing over and saves nothing when its epoch is lost", async () => {
    const store = await open();
    await store.takeOver();
    const db = new DatabaseSync(path());
    db.exec("DELETE FROM shard");
    db.close();
    const damaged = { code: "database-damaged", message: expect.stringMatching(/is damaged.*restore a copy/) };
    await expect(store.commit({ ...emptyCommit, signals: [beat(1)] })).rejects.toMatchObject(damaged);
    await expect(store.takeOver()).rejects.toMatchObject(damaged);
    expect(await store.readBeats(1, 9)).toEqual([]);
    await store.close();
  });

  async function cutOffInTheMiddle(): Promise<void> {
    const store = await open();
    await store.commit({ ...emptyCommit, signals: Array.from({ length: 2000 }, (_, i) => beat(i + 1)) });
    await store.close();
    truncateSync(path(), Math.floor(statSync(path()).size / 2));
  }

  it.each<[string, () => string, RegExp]>([
    ["is missing", () => join(folder, "missing"), /missing.*ENOENT/],
    ["is a file", () => aFile(), /a-file.*ENOTDIR/],
  ])("says so when its folder %s", async (_, where, message) => {
    const refusal = await open(where()).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ name: "Fault", code: "data-folder-unusable" });
    expect((refusal as Error).message).toMatch(message);
  });

  function aFile(): string {
    const file = join(folder, "a-file");
    writeFileSync(file, "");
    return file;
  }
});
