import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Commit, emptyCommit } from "../../ports/store.ts";
import { type BundledStore, bundleStore } from "./bundle-for-tests.ts";
import { openSqliteStore } from "./open-sqlite-store.ts";

let bundled: BundledStore;
let folder: string;
beforeAll(async () => {
  bundled = await bundleStore();
});
afterAll(() => bundled.remove());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-trouble-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (where = folder, shard = 0) => openSqliteStore({ folder: where, shard, workerFile: bundled.workerFile });

/** A commit of `count` signals and an event, so that a half of it would show. */
const commitOf = (firstId: number, count: number): Commit => ({
  ...emptyCommit,
  signals: Array.from({ length: count }, (_, i) => ({
    id: firstId + i,
    agentNo: i % 10,
    at: firstId + i,
    time: firstId + i,
    kind: "heartbeat",
    body: JSON.stringify({ phase: "x".repeat(200) }),
  })),
  events: [{ id: firstId, time: firstId, agentId: null, event: { type: "MONITOR_STOPPED", payload: {} } }],
});

describe("a store on SQLite and other processes", () => {
  let children: ChildProcess[] = [];
  afterEach(async () => {
    await Promise.all(children.map(endNow));
    children = [];
  });

  /**
   * Another process that takes two shards over, says so, and commits one signal after the other to each, with a task, a checkpoint and an audit line
   * of the same number, printing each once both are saved.
   */
  function startCommitting(): ChildProcess {
    const script = `
      import { openSqliteStore } from ${JSON.stringify(bundled.storeFile.href)};
      const folder = ${JSON.stringify(folder)};
      const shards = [await openSqliteStore({ folder }), await openSqliteStore({ folder, shard: 1 })];
      const epochs = [await shards[0].takeOver(), await shards[1].takeOver()];
      const ids = (await Promise.all(shards.map((shard) => shard.resume()))).map(({ lastSignalId }) => lastSignalId);
      process.stdout.write("open\\n");
      const nothing = ${JSON.stringify(emptyCommit)};
      const commitTo = (shard) => {
        const id = ++ids[shard];
        const texts = { actor: "", action: "", subject: null, reason: "", evidence: {}, policy: null, before: "", signature: null };
        return shards[shard].commit({
          ...nothing,
          epoch: epochs[shard],
          signals: [{ id, agentNo: id % 7, at: id, time: id, kind: "heartbeat", body: "{}" }],
          machines: [{ machine: "task", id: "t-1", overAt: null, record: String(id) }],
          checkpoints: [{ id: String(id), taskId: "t-1", number: id, time: id, head: "{}", state: "{}" }],
          audit: [{ ...texts, number: id, time: "", hash: String(id) }],
        });
      };
      for (;;) {
        await Promise.all([commitTo(0), commitTo(1)]);
        process.stdout.write(ids.join(" ") + "\\n");
      }`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.push(child);
    return child;
  }

  async function endNow(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  it("keeps every commit that resolved, and its lock no longer, when the process is killed", {
    timeout: 60_000,
  }, async () => {
    let last = [0, 0];
    for (let round = 1; round <= 4; round++) {
      const child = startCommitting();
      const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
      let committed = 0;
      for await (const line of lines) {
        if (line === "open") continue;
        last = line.split(" ").map(Number);
        if (++committed === 100 * round) child.kill("SIGKILL"); // what it still prints until it is dead counts, too
      }
      for (const shard of [0, 1]) await expectWhole(shard, last[shard] ?? 0, round);
    }
    expect(Math.min(...last)).toBeGreaterThanOrEqual(1000);
  });

  async function expectWhole(shard: number, last: number, epoch: number): Promise<void> {
    const store = await open(folder, shard);
    const { signals, machines, lastAudit, lastSignalId } = await store.resume();
    expect(lastSignalId).toBeGreaterThanOrEqual(last);
    const all = Array.from({ length: lastSignalId }, (_, i) => i + 1);
    expect(signals.map(({ id }) => id)).toEqual(all);
    expect(machines).toEqual([{ machine: "task", id: "t-1", overAt: null, record: String(lastSignalId) }]);
    expect((await store.readCheckpoints("t-1", 9999)).map(({ number }) => number).reverse()).toEqual(all);
    expect((await store.readAudit({ limit: 9999 })).map(({ number }) => number)).toEqual(all);
    expect(lastAudit).toEqual({ number: lastSignalId, hash: String(lastSignalId) });
    expect(await store.takeOver()).toBe(2 * epoch);
    await expect(store.commit({ ...emptyCommit, epoch: 2 * epoch - 1 })).rejects.toMatchObject({ code: "epoch-lost" });
    await store.close();
  }

  it("refuses a folder that another living process uses", { timeout: 20_000 }, async () => {
    const child = startCommitting();
    await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), "line");
    const refusal = await open().catch((error: unknown) => error);
    expect(refusal).toMatchObject({ name: "Fault", code: "daemon-running" });
    expect((refusal as Error).message).toContain(folder);
    await endNow(child);
    await (await open()).close();
  });
});

describe("a store on SQLite whose thread dies", () => {
  it("rejects what was under way and opens again at the next call", async () => {
    const flag = join(folder, "die-now");
    const dyingWorker = join(folder, "dying-worker.mjs");
    writeFileSync(dyingWorker, `import "./die-on-request.mjs"; import ${JSON.stringify(bundled.workerFile.href)};`);
    writeFileSync(
      join(folder, "die-on-request.mjs"),
      `import { existsSync, rmSync } from "node:fs";
       import { parentPort } from "node:worker_threads";
       const flag = ${JSON.stringify(flag)};
       parentPort.on("message", () => { if (existsSync(flag)) { rmSync(flag); process.exit(1); } });`,
    );
    const store = await openSqliteStore({ folder, workerFile: pathToFileURL(dyingWorker) });
    await store.commit(commitOf(1, 3));
    writeFileSync(flag, "");
    const outcomes = await Promise.allSettled([
      store.commit(commitOf(4, 3)),
      store.resume(),
      store.readAudit({ limit: 1 }),
    ]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "store-unavailable", retryable: true } });
    }
    await store.commit(commitOf(4, 3));
    expect((await store.resume()).signals.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6]);
    await store.close();
  });
});

const canMount = process.platform === "linux" && process.getuid?.() === 0 && mountWorks();
if (!canMount)
  console.warn(
    "store-sqlite: cannot mount a tmpfs here (needs root on Linux): full and read-only disks are NOT tested.",
  );

describe.skipIf(!canMount)("a store on SQLite on a disk in trouble", () => {
  let disk: string;
  beforeEach(() => {
    disk = join(folder, "disk");
    mkdirSync(disk);
    mount(disk, "size=6m,mode=700");
  });
  afterEach(() => unmount(disk));

  it("rejects a commit when the disk is full, leaves nothing of it behind, and takes it once there is room", {
    timeout: 30_000,
  }, async () => {
    const store = await open(disk);
    await store.commit(commitOf(1, 100));
    fill(join(disk, "ballast"));
    for (let attempt = 1; attempt <= 3; attempt++) {
      const refusal = await store.commit(commitOf(1001, 5000)).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ name: "Fault", code: "store-unavailable", retryable: true });
      expect(await store.resume()).toMatchObject({ lastSignalId: 100, lastEventId: 1 });
      expect((await store.readBeats(3, 9999)).length).toBe(10);
    }
    rmSync(join(disk, "ballast"));
    await store.commit(commitOf(1001, 5000));
    await store.commit(commitOf(501, 10));
    expect((await store.readBeats(3, 9999)).length).toBe(511);
    await store.close();
    const again = await open(disk);
    expect(await again.resume()).toMatchObject({ lastSignalId: 6000, lastEventId: 1001 });
    await again.close();
  });

  it("says that its folder cannot be used when it is read-only", async () => {
    await (await open(disk)).close();
    mount(disk, "remount,ro");
    const refusal = await open(disk).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ name: "Fault", code: "data-folder-unusable" });
    expect((refusal as Error).message).toMatch(/disk.*read-?only/i);
  });
});

function mount(where: string, options: string): void {
  execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", where], { stdio: "pipe" });
}

/** Lazily: the mount goes even when a failed test left a store open on it. */
function unmount(where: string): void {
  execFileSync("umount", ["--lazy", where]);
}

function mountWorks(): boolean {
  const where = mkdtempSync(join(tmpdir(), "rouse-mount-"));
  try {
    mount(where, "size=64k");
    unmount(where);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(where, { recursive: true });
  }
}

function fill(file: string): void {
  const ballast = openSync(file, "w");
  try {
    for (let size = 65_536; size >= 1; size >>= 1) {
      try {
        for (;;) writeSync(ballast, Buffer.alloc(size));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      }
    }
  } finally {
    closeSync(ballast);
  }
}
