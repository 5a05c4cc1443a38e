import type { AgentRecord } from "@rouse/core";
import { describe, expect, it } from "vitest";
import { openMemoryStore } from "../adapters/store-memory/open-memory-store.ts";
import { Watched } from "../agents/roster.ts";
import { groupCommits } from "./group-commit.ts";
import { handWoundTimers } from "./hand-wound-timers.test-support.ts";
import { keepRecords } from "./keep-records.ts";

const none = (): void => undefined;
const watch = (no: number): Watched => new Watched(no, { agentId: `a-${no}` } as AgentRecord, 0);

async function world() {
  const { timers } = handWoundTimers();
  const commits = groupCommits(await openMemoryStore(), 0, timers, { committed: none, wentDown: none, cameBack: none });
  return { records: keepRecords(commits), draft: commits.draft, due: () => [...commits.draft().records.keys()] };
}

describe("a record that only moved clocks", () => {
  it("is written after a minute, or after fifty thousand signals of anybody", async () => {
    for (const [now, lastSignalId, isDue] of [
      [59_999, 49_999, false],
      [60_000, 0, true],
      [0, 50_000, true],
    ] as const) {
      const { records, due } = await world();
      records.saveLater(watch(1), 0);
      records.saveDue(now, lastSignalId);
      expect(due()).toEqual(isDue ? [1] : []);
    }
  });

  it("is one of two hundred, or of a twentieth of all, that are written at once", async () => {
    for (const [waiting, written] of [
      [300, 200],
      [6000, 300],
    ] as const) {
      const { records, due } = await world();
      for (let no = 1; no <= waiting; no++) records.saveLater(watch(no), 0);
      records.saveDue(60_000, 0);
      expect(due()).toHaveLength(written);
    }
  });

  it("is written with all others at the end, and none twice", async () => {
    const { records, due, draft } = await world();
    for (const no of [1, 2, 3]) records.saveLater(watch(no), 0);
    records.saveDue(60_000, 0);
    expect(due()).toEqual([1, 2, 3]);
    draft().records.clear();
    const [fourth] = [watch(4)];
    records.saveLater(fourth, 0);
    records.saveAll();
    expect(due()).toEqual([4]);
    expect(fourth.unsaved).toBeNull();
  });

  it("does not wait when it is in the next commit already", async () => {
    const { records } = await world();
    const one = watch(1);
    records.saveNow(one);
    records.saveLater(one, 0);
    expect(one.unsaved).toBeNull();
  });
});

it("of one that is taken out nothing is written any more, whether it waited or was in the next commit", async () => {
  const { records, due, draft } = await world();
  const [waits, isDue, stays] = [watch(1), watch(2), watch(3)];
  records.saveLater(waits, 0);
  records.saveNow(isDue);
  records.saveNow(stays);
  for (const agentNo of [1, 2, 3])
    draft().signals.push({ id: agentNo, agentNo, at: 0, time: 0, kind: "heartbeat", body: "{}" });
  records.remove(waits);
  records.remove(isDue);
  records.saveAll();
  expect(due()).toEqual([3]);
  expect(draft().signals.map(({ agentNo }) => agentNo)).toEqual([3]);
  expect(draft().removed).toEqual([1, 2]);
});
