import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StopOutcome } from "@rouse/contract";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type OrderMessage, obeyOrders } from "./obey-orders.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-orders-"));
  file = join(folder, "orders.jsonl");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const stopped: StopOutcome = { kind: "stopped", forced: false, processes: 1 };
const stop = (changes: Partial<OrderMessage> = {}): OrderMessage => ({
  say: "order",
  key: "k",
  incarnation: 1,
  epoch: 1,
  order: { kind: "stop", graceMs: 100 },
  ...changes,
});

/** Something to stop, which counts how often that is done. */
function openOrders(outcome: StopOutcome = stopped) {
  let times = 0;
  let finish: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const orders = obeyOrders(file, 1, async () => {
    times++;
    await gate;
    return outcome;
  });
  return { orders, finish, times: () => times };
}

describe("an order", () => {
  it("is carried out once, however often it comes, and the answer stays the same in the next life", async () => {
    const { orders, finish, times } = openOrders();
    const both = [orders.obey(stop()), orders.obey(stop())];
    finish();
    expect(await Promise.all(both)).toEqual([stopped, stopped]);
    expect(await orders.obey(stop())).toEqual(stopped);
    expect(times()).toBe(1);

    const next = openOrders();
    expect(await next.orders.obey(stop({ incarnation: 9, epoch: 0 }))).toEqual(stopped);
    expect(next.times()).toBe(0);
  });

  it("joins another that is being carried out", async () => {
    const { orders, finish, times } = openOrders();
    const both = [orders.obey(stop()), orders.obey(stop({ key: "other" }))];
    expect(orders.stopping()).toBe(true);
    finish();
    expect(await Promise.all(both)).toEqual([stopped, stopped]);
    expect(times()).toBe(1);
    expect(readFileSync(file, "utf8").trim().split("\n")).toHaveLength(2);
  });

  it("is refused from an older monitor than one already heard, but not from a person", async () => {
    const { orders, finish } = openOrders();
    finish();
    expect(orders.admits(7)).toBe(true);
    expect(await orders.obey(stop({ epoch: 6 }))).toEqual({ kind: "refused", because: "old-epoch" });
    expect(orders.admits(6)).toBe(false);
    expect(await orders.obey(stop({ epoch: null }))).toEqual(stopped);
  });

  it("for another life is refused, and a refusal is not remembered", async () => {
    const { orders, finish } = openOrders();
    finish();
    expect(await orders.obey(stop({ incarnation: 2 }))).toEqual({ kind: "refused", because: "wrong-incarnation" });
    expect(await orders.obey(stop())).toEqual(stopped);
  });

  it("that found nobody leaves the cause of the end to others", async () => {
    const { orders, finish } = openOrders({ kind: "already-over" });
    finish();
    await orders.obey(stop());
    expect(orders.stopping()).toBe(false);
  });

  it("that could not be carried out for a reason of our own is not done, and can be given again", async () => {
    let times = 0;
    const orders = obeyOrders(file, 1, async () => {
      if (++times === 1) throw new Error("/proc is not there");
      return stopped;
    });
    expect(await orders.obey(stop())).toEqual({ kind: "termination_incomplete", survivors: [] });
    expect(await orders.obey(stop())).toEqual(stopped);
  });

  it("is remembered beside lines that a crash cut off, and only the newest are", async () => {
    const lines = Array.from({ length: 500 }, (_, i) => `${JSON.stringify({ key: `k${i}`, outcome: stopped })}\n`);
    writeFileSync(file, lines.join(""));
    appendFileSync(file, '{"key":"cut","outco');
    const { orders, finish, times } = openOrders();
    finish();
    await orders.obey(stop({ key: "k499" }));
    expect(times()).toBe(0);
    await orders.obey(stop({ key: "k1" }));
    expect(times()).toBe(1);
    expect(readFileSync(file, "utf8").split("\n").length).toBeLessThan(210);
  });
});
