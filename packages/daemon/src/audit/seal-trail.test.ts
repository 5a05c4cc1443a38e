import { generateKeyPairSync, sign } from "node:crypto";
import { type AuditRecord, type AuditSeal, days } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { createMemoryDisk, type MemoryDisk } from "../adapters/store-memory/memory-disk.ts";
import { openMemoryStore } from "../adapters/store-memory/open-memory-store.ts";
import { readConfig, requireConfig } from "../config/read-config.ts";
import { handWoundTimers } from "../engine/hand-wound-timers.test-support.ts";
import { handsOff } from "../hands-off.test-support.ts";
import { startMonitor } from "../monitor.ts";
import { auditHeadMark, auditRemovedMark, auditStoreMark } from "../ports/store.ts";
import { auditHead, hashOfLine, readPlace } from "./audit-trail.ts";
import { verifyAudit } from "./verify-audit.ts";

const noon = Date.UTC(2026, 1, 5, 12);
const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const signing = {
  sign: (text: string) => sign(null, Buffer.from(text), privateKey).toString("base64"),
  publicKey: publicKey.export({ type: "spki", format: "pem" }) as string,
};

/** One run of a monitor on a disk, with an anchor that remembers what it was given. */
async function run(disk: MemoryDisk, at = 0, whenAsked: () => Promise<void> = async () => undefined) {
  const wound = handWoundTimers();
  const anchored: AuditSeal[] = [];
  const clock = { mono: at, boot: at, wall: noon + at };
  const quiet = () => undefined;
  const monitor = await startMonitor({
    ...handsOff,
    signing,
    anchors: () => ({
      async place(seal) {
        await whenAsked();
        anchored.push(seal);
      },
      read: async () => null,
    }),
    store: await openMemoryStore(disk),
    clock: { mono: () => clock.mono, wall: () => clock.wall, read: () => ({ ...clock }) },
    timers: wound.timers,
    alerts: { deliver: async () => undefined },
    log: { info: quiet, warn: quiet, error: quiet },
    config: requireConfig(readConfig({ file: { name: "test", text: "preset: fleet" } })),
    version: "test",
  });
  const finish = async (doing: Promise<unknown>) => {
    for (let i = 0; i < 5; i++) await wound.turn();
    await doing;
  };
  await finish(Promise.resolve());
  return {
    monitor,
    anchored,
    wound,
    clock,
    freeze: () => finish(monitor.freeze("ada", "maintenance")),
    stop: () => finish(monitor.stop()),
  };
}

const told = (disk: MemoryDisk) => disk.audit.map(({ action, reason }) => `${action} ${reason}`);

const verify = (disk: MemoryDisk) =>
  verifyAudit(disk.audit, signing.publicKey, {
    head: readPlace(disk.marks.get(auditHeadMark)),
    store: disk.marks.get(auditStoreMark) ?? null,
    removed: readPlace(disk.marks.get(auditRemovedMark)),
    told: null,
  });

describe("the trail of a monitor", () => {
  it("begins with a seal and ends with one, and each is anchored once it is saved", async () => {
    const disk = createMemoryDisk();
    const { freeze, stop, anchored } = await run(disk);
    expect(anchored.map(({ number }) => number)).toEqual([1]);
    await freeze();
    expect(anchored).toHaveLength(1);
    await stop();
    expect(told(disk)).toEqual(["seal beginning", "freeze maintenance", "seal stopped"]);
    expect(anchored.map(({ number, hash }) => [number, hash])).toEqual(
      [0, 2].map((i) => [i + 1, (disk.audit[i] as AuditRecord).hash]),
    );
    expect(verify(disk)).toMatchObject({ sound: true, sealed: { number: 3 }, unsealed: null });
  });

  it("after a crash is sealed where it was left, and the newest seal is offered to the anchors again", async () => {
    const disk = createMemoryDisk();
    await (await run(disk)).freeze();
    disk.crash();
    const next = await run(disk, 60_000);
    expect(told(disk)).toEqual(["seal beginning", "freeze maintenance", "seal started"]);
    expect(next.anchored.map(({ number }) => number)).toEqual([1, 3]);
    disk.crash();
    const third = await run(disk, 120_000);
    expect(disk.audit).toHaveLength(3);
    expect(third.anchored.map(({ number }) => number)).toEqual([3]);
    expect(verify(disk).sound).toBe(true);
  });

  /** As somebody writes them who has the database and not the key. */
  function forge(disk: MemoryDisk, count: number): void {
    for (let i = 0; i < count; i++) {
      const { number, hash } = disk.audit.at(-1) as AuditRecord;
      const line = {
        ...{ number: number + 1, time: new Date(noon).toISOString(), actor: "owner", action: "thaw" },
        ...{ subject: "worker-1", reason: "", evidence: {}, policy: null, before: hash },
      };
      disk.audit.push({ ...line, hash: hashOfLine(line), signature: null });
    }
    disk.marks.set(auditHeadMark, auditHead(disk.audit.at(-1) as AuditRecord));
  }

  it("is broken by lines that were added after Rouse had stopped, before and after the next start signs over them", async () => {
    const disk = createMemoryDisk();
    await (await run(disk)).stop();
    forge(disk, 2);
    const problems = [{ number: 3, problem: "2 lines were added after Rouse had stopped: not written by Rouse" }];
    expect(verify(disk)).toMatchObject({ sound: false, problems });
    await (await run(disk, 60_000)).stop();
    expect(disk.audit[4]).toMatchObject({ reason: "started", evidence: { unsealed: 2, runBefore: "stopped" } });
    expect(verify(disk)).toMatchObject({ sound: false, problems });
  });

  it("says so for good, also when the seal at the end of that run is removed by retention", async () => {
    const disk = createMemoryDisk();
    await (await run(disk)).stop();
    forge(disk, 1);
    const later = await run(disk, 60_000);
    const lines = disk.audit.slice(2);
    expect(verifyAudit(lines, signing.publicKey).problems).toContainEqual({
      number: 3,
      problem: "1 line was added after Rouse had stopped: not written by Rouse",
    });
    await later.stop();
  });

  it("is sound after a crash, and names the lines that the next start took over as it found them", async () => {
    const disk = createMemoryDisk();
    const first = await run(disk);
    await first.freeze();
    await first.freeze();
    disk.crash();
    await (await run(disk, 60_000)).stop();
    expect(disk.audit[3]).toMatchObject({ reason: "started", evidence: { unsealed: 2, runBefore: "died" } });
    const verdict = verify(disk);
    expect(verdict).toMatchObject({ sound: true, foundOpen: [{ from: 2, to: 3 }] });
    expect(verdict.cannotShow[0]).toMatch(/^Lines 2–3 were not sealed when Rouse died: taken over as found/);
  });

  it("is sound when a run that followed a clean end dies with lines of its own", async () => {
    const disk = createMemoryDisk();
    await (await run(disk)).stop();
    await (await run(disk, 60_000)).freeze();
    disk.crash();
    await (await run(disk, 120_000)).stop();
    expect(told(disk)).toEqual([
      ...["seal beginning", "seal stopped", "seal started", "freeze maintenance", "seal started", "seal stopped"],
    ]);
    expect(verify(disk)).toMatchObject({ sound: true, foundOpen: [{ from: 4, to: 4 }] });
  });

  it("ends only when its last seal is anchored", async () => {
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { monitor, wound, anchored } = await run(createMemoryDisk(), 0, () => gate);
    let isOver = false;
    const stopped = monitor.stop().then(() => {
      isOver = true;
    });
    for (let i = 0; i < 5; i++) await wound.turn();
    expect([isOver, anchored]).toEqual([false, []]);
    open();
    await stopped;
    expect(anchored.map(({ number }) => number)).toEqual([1, 2]);
  });

  it("has one name for good, and each line is sealed under it", async () => {
    const disk = createMemoryDisk();
    await (await run(disk)).stop();
    const id = disk.marks.get(auditStoreMark);
    const { anchored, stop } = await run(disk, 60_000);
    await stop();
    expect([disk.marks.get(auditStoreMark), anchored[0]?.store]).toEqual([id, id]);
  });

  it("that was written before there were seals is taken over as it is, with what retention had removed", async () => {
    const disk = createMemoryDisk();
    let before = "e".repeat(64);
    for (const number of [8, 9]) {
      const line = {
        ...{ number, time: new Date(noon).toISOString(), actor: "ada", action: "freeze", subject: null },
        ...{ reason: "", evidence: {}, policy: null, before },
      };
      before = hashOfLine(line);
      disk.audit.push({ ...line, hash: before, signature: null });
    }
    disk.marks.set(auditHeadMark, auditHead({ number: 9, hash: before }));
    disk.marks.set(auditRemovedMark, auditHead({ number: 7, hash: "e".repeat(64) }));
    expect(verify(disk)).toMatchObject({ sound: true, sealed: null, beginsAt: 8 });
    await (await run(disk)).stop();
    expect(verify(disk)).toMatchObject({ sound: true, sealed: { number: 11 }, takenOver: { from: 8, to: 9 } });
    disk.audit.shift();
    expect(verify(disk).sound).toBe(false);
  });

  it("loses its old lines only after it has said so, and is sound without them", async () => {
    const disk = createMemoryDisk();
    const first = await run(disk);
    await first.freeze();
    await first.stop();
    const later = await run(disk, days(40));
    for (let i = 0; i < 5; i++) {
      await later.wound.pass(60_000);
      await later.wound.turn();
      await later.wound.turn();
    }
    expect(told(disk)).toEqual(["seal started", "audit-removed older-than-the-history"]);
    expect(verify(disk)).toMatchObject({ sound: true, beginsAt: 4, sealed: { number: 5 } });
  });

  it("is given out with a signed end from memory: what the database says of it does not count", async () => {
    const disk = createMemoryDisk();
    const { monitor, freeze } = await run(disk);
    await freeze();
    disk.audit.pop();
    disk.marks.set(auditHeadMark, auditHead(disk.audit[0] as AuditRecord));
    const head = monitor.audit.head();
    expect(head.head?.number).toBe(2);
    expect(verifyAudit(disk.audit, signing.publicKey, head).problems).toEqual([
      { number: null, problem: "line 2 is missing at the end" },
    ]);
  });
});
