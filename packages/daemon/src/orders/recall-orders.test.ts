import { type AuditRecord, minutes, type Sight, seconds } from "@rouse/contract";
import { type Action, readRecord, type StopLife } from "@rouse/core";
import { describe, expect, it } from "vitest";
import { createMemoryDisk, type MemoryDisk } from "../adapters/store-memory/memory-disk.ts";
import { openMemoryStore } from "../adapters/store-memory/open-memory-store.ts";
import { auditHead, hashOfLine } from "../audit/audit-trail.ts";
import { readConfig, requireConfig } from "../config/read-config.ts";
import { handWoundTimers } from "../engine/hand-wound-timers.test-support.ts";
import { handsOff } from "../hands-off.test-support.ts";
import { startMonitor } from "../monitor.ts";
import { type HolderNews, noHolders } from "../ports/holders.ts";
import { auditHeadMark } from "../ports/store.ts";
import { noWorkspaces } from "../ports/workspaces.ts";
import { anyHold, anyReport } from "../tasks/task-world.test-support.ts";

/** One run of a monitor on a disk, with an agent whose holder is told to stop it and never answers. `saves`: whether its work can be saved before. */
async function run(disk: MemoryDisk, saves = true) {
  const wound = handWoundTimers();
  const settings = {
    terminal: { auto_kill_on_repeated_error: true },
    intervention: { termination: { accept_failed_snapshot: true } },
  };
  const stops: string[] = [];
  const alerts: string[] = [];
  const quiet = () => undefined;
  const clock = { mono: 0, boot: 0, wall: Date.UTC(2026, 0, 1) };
  let tell: HolderNews | null = null;
  const holders = {
    ...noHolders,
    folderOf: () => (saves ? null : "/"),
    begin: async (news: HolderNews) => {
      tell = news;
    },
    stop: ({ key }: { key: string }) => {
      stops.push(key);
      return new Promise<never>(() => undefined);
    },
  };
  const monitor = await startMonitor({
    ...handsOff,
    holders,
    workspaces: { ...noWorkspaces, snapshot: () => new Promise<never>(() => undefined) },
    store: await openMemoryStore(disk),
    clock: { mono: () => clock.mono, wall: () => clock.wall, read: () => ({ ...clock }) },
    timers: wound.timers,
    alerts: { deliver: async (alert) => void (alert.kind === "raise-alert" && alerts.push(alert.summary)) },
    log: { info: quiet, warn: quiet, error: quiet },
    config: requireConfig(
      readConfig({ file: { name: "test", text: JSON.stringify({ preset: "fleet", health_monitoring: settings }) } }),
    ),
    version: "test",
  });
  const turn = async () => {
    for (let i = 0; i < 8; i++) await wound.turn();
  };
  await turn();
  const news = tell as HolderNews | null;
  void news?.held({ ...anyHold, agentId: "a" }, false);
  await turn();

  async function passes(duration: number): Promise<void> {
    for (let passed = 0; passed < duration; passed += 250) {
      clock.mono += 250;
      clock.boot += 250;
      clock.wall += 250;
      await wound.pass(250);
      await wound.turn();
    }
  }

  /** What its holder tells next, and ten seconds. */
  async function shows(seq: number, ...sights: Sight[]): Promise<void> {
    void news?.reported("a", 1, { ...anyReport, seq, at: clock.wall, sights });
    await passes(seconds(10));
  }

  return { monitor, stops, alerts, turn, passes, shows };
}

/** The same error six times and nothing else, for which its owner wants it stopped. */
async function fails({ shows }: Pick<Awaited<ReturnType<typeof run>>, "shows">, from: number): Promise<void> {
  const error: Sight = { kind: "error", pattern: "error", digest: "e1", text: "e" };
  for (let seq = from; seq < from + 6; seq++) await shows(seq, { kind: "output", rows: 1, novel: 0 }, error);
}

const owner = { actor: "owner", reason: "enough", force: true };
const life = {
  decidedAt: 0,
  thenRestart: false,
  force: true,
  saved: null,
  orderedAt: null,
  evidence: [],
  outcome: null,
};

interface Forged {
  readonly stop?: StopLife;
  readonly incarnation?: number;
}

function write(disk: MemoryDisk, { stop, incarnation }: Forged, action: Action): void {
  for (const [no, saved] of disk.records) {
    const record = readRecord(saved.record);
    const life = { ...record.life, incarnation: incarnation ?? record.life.incarnation };
    const ending = { ...record.ending, stop: stop ?? record.ending.stop };
    disk.records.set(no, { ...saved, record: JSON.stringify({ ...record, life, ending }) });
  }
  const { key } = action;
  disk.actions.set(key, { key, agentId: "a", createdAt: 0, body: JSON.stringify(action) });
}

const forgeStop = (disk: MemoryDisk, key: string): void =>
  write(
    disk,
    { stop: { ...life, key, cause: "ordered", actor: "owner" } },
    { kind: "save-work", key: `${key}/work`, agentId: "a", incarnation: 1, within: 1000 },
  );

const refusalsOf = (disk: MemoryDisk) =>
  disk.audit.filter(({ action }) => action === "termination-refused").map(({ reason }) => reason);

describe("after a restart, an order to stop", () => {
  it("that somebody gave is carried out", async () => {
    const disk = createMemoryDisk();
    const first = await run(disk);
    void first.monitor.terminate("a", owner);
    await first.turn();
    expect(first.stops).toHaveLength(1);
    disk.crash();
    const next = await run(disk);
    expect(next.stops).toEqual(first.stops);
    expect(refusalsOf(disk)).toEqual([]);
  });

  it("that somebody gave is carried out, also when nothing more was done for it yet", async () => {
    const disk = createMemoryDisk();
    const first = await run(disk, false);
    void first.monitor.terminate("a", owner);
    await first.turn();
    expect(first.stops).toEqual([]);
    disk.crash();
    expect((await run(disk)).stops).toHaveLength(1);
    expect(refusalsOf(disk)).toEqual([]);
  });

  it("that only the database knows of stops nobody, is told, and is gone for good", async () => {
    const disk = createMemoryDisk();
    await run(disk);
    disk.crash();
    forgeStop(disk, "a/stop/1");
    const next = await run(disk);
    expect(next.stops).toEqual([]);
    expect(next.alerts).toMatchObject([expect.stringContaining("an order of nobody was found in the database")]);
    disk.crash();
    expect((await run(disk)).stops).toEqual([]);
    expect(refusalsOf(disk)).toEqual(["order-of-nobody"]);
  });

  it("that is nothing but an action on its way to the hands stops nobody", async () => {
    const disk = createMemoryDisk();
    await run(disk);
    disk.crash();
    const key = "a/stop/1";
    write(disk, {}, { kind: "stop-agent", key, agentId: "a", incarnation: 1, grace: 0, spends: false });
    expect((await run(disk)).stops).toEqual([]);
    expect(refusalsOf(disk)).toEqual(["order-of-nobody"]);
  });

  it("that is on its way beside the one that stands stops nobody, nor does one that was answered", async () => {
    const action = { kind: "stop-agent", agentId: "a", incarnation: 1, grace: 0, spends: false } as const;
    const disk = createMemoryDisk();
    const first = await run(disk);
    void first.monitor.terminate("a", owner);
    await first.turn();
    disk.crash();
    write(disk, {}, { ...action, key: "a/stop/77" });
    expect((await run(disk)).stops).toEqual(first.stops);
    expect(refusalsOf(disk)).toEqual(["order-of-nobody"]);
    disk.crash();
    const [key = ""] = first.stops;
    const outcome = { kind: "refused", because: "identity-changed" } as const;
    write(disk, { stop: { ...life, key, cause: "ordered", actor: "owner", outcome } }, { ...action, key });
    expect((await run(disk)).stops).toEqual([]);
  });

  it("is not believed for a line of ours that somebody has rewritten, nor for an order that is another one", async () => {
    const orders = async (change: (disk: MemoryDisk, line: AuditRecord) => void) => {
      const disk = createMemoryDisk();
      const first = await run(disk);
      void first.monitor.terminate("a", owner);
      await first.turn();
      disk.crash();
      disk.actions.clear();
      const at = disk.audit.findIndex(({ action }) => action === "order-stop");
      change(disk, disk.audit[at] as AuditRecord);
      return { stops: (await run(disk)).stops, refusals: refusalsOf(disk) };
    };
    const refused = { stops: [], refusals: ["order-of-nobody"] };
    // Its hash and signature stay as they were: they are of what it said before.
    const rewritten = await orders((disk, line) => {
      disk.audit.splice(disk.audit.indexOf(line), 1, { ...line, evidence: { ...line.evidence, key: "a/stop/77" } });
      forgeStop(disk, "a/stop/77");
    });
    expect(rewritten).toEqual(refused);
    expect(await orders((disk) => forgeStop(disk, "a/stop/77"))).toEqual(refused);
  });

  it("is not believed for a line of the trail that is not signed by us, or that is about another life", async () => {
    for (const incarnation of [1, 2]) {
      const disk = createMemoryDisk();
      const first = await run(disk);
      const key = "a/stop/1";
      if (incarnation === 1) {
        disk.crash();
        const { number, hash } = disk.audit.at(-1) as AuditRecord;
        const line = {
          ...{
            number: number + 1,
            time: "2026-01-01T00:00:00.000Z",
            actor: "owner",
            action: "order-stop",
            subject: "a",
          },
          ...{ reason: "", evidence: { key, incarnation }, policy: null, before: hash },
        };
        disk.audit.push({ ...line, hash: hashOfLine(line), signature: "AAAA" });
        disk.marks.set(auditHeadMark, auditHead(disk.audit.at(-1) as AuditRecord));
        forgeStop(disk, key);
      } else {
        void first.monitor.terminate("a", owner);
        await first.turn();
        disk.crash();
        disk.actions.clear();
        const [used] = first.stops;
        write(
          disk,
          { incarnation, stop: { ...life, key: used as string, cause: "ordered", actor: "owner" } },
          { kind: "save-work", key: `${used}/work`, agentId: "a", incarnation, within: 1000 },
        );
      }
      expect((await run(disk)).stops).toEqual([]);
      expect(refusalsOf(disk)).toEqual(["order-of-nobody"]);
    }
  });
});

describe("after a restart, a stop of our own that nobody knows the outcome of", () => {
  async function crashesWhileItStops(): Promise<MemoryDisk> {
    const disk = createMemoryDisk();
    const first = await run(disk);
    await fails(first, 1);
    expect(first.stops).toEqual(["a/1/stop/repeated-error/1"]);
    disk.crash();
    return disk;
  }

  it("is not given again: an agent that works meanwhile is not stopped", async () => {
    const disk = await crashesWhileItStops();
    const next = await run(disk);
    for (let seq = 10; seq < 20; seq++) await next.shows(seq, { kind: "output", rows: 9, novel: 9 });
    await next.passes(minutes(15));
    expect(next.stops).toEqual([]);
  });

  it("is decided anew: one that still fails is stopped, by another order", async () => {
    const disk = await crashesWhileItStops();
    const next = await run(disk);
    await fails(next, 10);
    await next.passes(minutes(2));
    expect(next.stops).toEqual(["a/1/stop/repeated-error/2"]);
  });
});
