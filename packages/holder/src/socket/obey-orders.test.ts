import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NudgeDelivery, StopOutcome } from "@rouse/contract";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { admitMonitors } from "../protocol/admit-monitors.ts";
import type { StopOrder } from "../protocol/messages.ts";
import { type OrderMessage, obeyOrders } from "./obey-orders.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-orders-"));
  file = join(folder, "orders.jsonl");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const stopped: StopOutcome = { kind: "stopped", forced: false, processes: 1 };
const sent: NudgeDelivery = { kind: "sent", channel: "terminal", echoed: true };
const notSent = (because: string) => ({ kind: "not-sent", because });
const stop = (changes: Partial<OrderMessage> = {}): OrderMessage => ({
  say: "order",
  key: "k",
  incarnation: 1,
  epoch: 1,
  store: "ours",
  order: { kind: "stop", graceMs: 100 },
  ...changes,
});

const nudge = (changes: Partial<OrderMessage> = {}): OrderMessage =>
  stop({ order: { kind: "nudge", text: "go on", notAfter: 2_000_000_000_000 }, ...changes });

/** Something to stop and to talk to, which counts how often that is done. */
function openOrders(outcome: StopOutcome = stopped, delivery: NudgeDelivery = sent) {
  const did: ("stop" | "type" | "contain")[] = [];
  const withdrawn: string[] = [];
  let attached = false;
  let movedAt = 0;
  let looks: () => void = () => {};
  let looked: Promise<void> | undefined;
  const holdLook = (): void => {
    looked = new Promise((resolve) => {
      looks = resolve;
    });
  };
  let finish: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const { refuses } = admitMonitors(null, () => {});
  const orders = obeyOrders(file, 1, {
    refuses,
    attached: () => attached,
    movedSince: async (at) => {
      await looked;
      if (Number.isNaN(movedAt)) throw new Error("its screen cannot be read");
      return at < movedAt;
    },
    async stop() {
      did.push("stop");
      await gate;
      return outcome;
    },
    async nudge(_id, _order, begin) {
      if (delivery.kind === "not-sent") return delivery;
      if (!begin()) return { kind: "not-sent", because: "no-input" };
      did.push("type");
      await gate;
      return delivery;
    },
    withdraw: (id) => void withdrawn.push(id),
    async contain() {
      did.push("contain");
      return { kind: "contained" };
    },
  });
  const sitsDown = (is = true): void => {
    attached = is;
  };
  const comes = (epoch: number) => refuses({ store: "ours", epoch });
  const moves = (at: number): void => {
    movedAt = at;
  };
  return { orders, finish, sitsDown, comes, moves, holdLook, looks: () => looks(), withdrawn, times: () => did.length };
}

describe("an order to stop of a monitor's own", () => {
  const own = (changes: Partial<StopOrder>, key = "k") =>
    stop({ key, order: { kind: "stop", graceMs: 100, unlessAttached: true, ...changes } });
  const takenBack = (key: string) => stop({ key, order: { kind: "withdraw-stop" } });
  const later = () => Date.now() + 60_000;

  it("is not begun after its time, nor when it was taken back before it came", async () => {
    const { orders, finish, times } = openOrders();
    finish();
    const late = { kind: "refused", because: "too-late" };
    expect(await orders.obey(own({ notAfter: Date.now() - 1 }))).toEqual(late);
    expect(await orders.obey(takenBack("k2"))).toEqual(late);
    expect(await orders.obey(own({ notAfter: later() }, "k2"))).toEqual(late);
    expect(times()).toBe(0);
    expect(await orders.obey(own({ notAfter: later() }, "k3"))).toEqual(stopped);
  });

  it("for silence is not begun when the agent has shown work since", async () => {
    const { orders, finish, moves, times } = openOrders();
    finish();
    moves(2000);
    const order = { notAfter: later(), silentAt: 1000 };
    expect(await orders.obey(own(order))).toEqual({ kind: "refused", because: "moved-since" });
    expect(times()).toBe(0);
    expect(await orders.obey(own({ ...order, silentAt: 3000 }, "k2"))).toEqual(stopped);
  });

  it("for silence is not begun when the agent could not be looked at", async () => {
    const { orders, finish, moves, times } = openOrders();
    finish();
    moves(Number.NaN);
    const order = own({ notAfter: later(), silentAt: 1000 });
    expect(await orders.obey(order)).toEqual({ kind: "refused", because: "moved-since" });
    expect(times()).toBe(0);
  });

  it("can be taken back while the agent is looked at, and not by a monitor that is refused", async () => {
    const { orders, finish, holdLook, looks, times } = openOrders();
    finish();
    holdLook();
    const first = orders.obey(own({ notAfter: later(), silentAt: 1000 }));
    await orders.obey(takenBack("k"));
    looks();
    expect(await first).toEqual({ kind: "refused", because: "too-late" });
    expect(times()).toBe(0);
    holdLook();
    const second = orders.obey(own({ notAfter: later(), silentAt: 1000 }, "k2"));
    await orders.obey({ ...takenBack("k2"), store: null });
    looks();
    expect(await second).toEqual(stopped);
  });
});

describe("an order", () => {
  it("to stop that its hands refused stopped nobody, and can be given again", async () => {
    const { orders, finish, times } = openOrders({ kind: "refused", because: "own-group" });
    finish();
    expect(await orders.obey(stop())).toMatchObject({ kind: "refused" });
    expect(orders.stopping()).toBe(false);
    await orders.obey(stop());
    expect(times()).toBe(2);
  });

  it("to stop that was carried out is why the agent ended, and one that came after its end is not", async () => {
    for (const [outcome, ended] of [
      [stopped, true],
      [{ kind: "already-over" }, false],
    ] as const) {
      const { orders, finish } = openOrders(outcome);
      const key = outcome.kind;
      finish();
      await orders.obey(stop({ key }));
      expect(orders.stopping()).toBe(ended);
    }
  });

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
    const { orders, finish, comes } = openOrders();
    finish();
    expect(comes(7)).toBe(null);
    expect(await orders.obey(stop({ epoch: 6 }))).toEqual({ kind: "refused", because: "old-epoch" });
    expect(comes(6)).toBe("old-epoch");
    expect(await orders.obey(stop({ epoch: null, store: null }))).toEqual(stopped);
  });

  it("of another store's monitor is refused, and so is a monitor's from somebody who came as a person", async () => {
    const { orders, finish, comes } = openOrders();
    finish();
    expect(comes(1)).toBe(null);
    for (const store of ["other", null])
      expect(await orders.obey(stop({ epoch: 2, store }))).toEqual({ kind: "refused", because: "other-store" });
    expect(await orders.obey(stop())).toEqual(stopped);
  });

  it("for another life is refused, and a refusal is not remembered", async () => {
    const { orders, finish } = openOrders();
    finish();
    expect(await orders.obey(stop({ incarnation: 2 }))).toEqual({ kind: "refused", because: "wrong-incarnation" });
    expect(await orders.obey(stop())).toEqual(stopped);
  });

  it("of a monitor's own is refused while somebody is attached, and can be given again; a person's is not", async () => {
    const { orders, finish, sitsDown, times } = openOrders();
    finish();
    sitsDown();
    const own = stop({ order: { kind: "stop", graceMs: 100, unlessAttached: true } });
    expect(await orders.obey(own)).toEqual({ kind: "refused", because: "attached" });
    expect([times(), orders.stopping()]).toEqual([0, false]);
    sitsDown(false);
    expect(await orders.obey(own)).toEqual(stopped);
    sitsDown();
    for (const [key, unlessAttached] of Object.entries({ "a person's": false, "a monitor's of before": undefined }))
      expect(await orders.obey(stop({ key, order: { kind: "stop", graceMs: 100, unlessAttached } }))).toEqual(stopped);
    expect(times()).toBe(3);
  });

  it("of a monitor's own joins a person's that is being carried out, attached or not", async () => {
    const { orders, finish, sitsDown, times } = openOrders();
    sitsDown();
    const own = { kind: "stop", graceMs: 100, unlessAttached: true } as const;
    const both = [orders.obey(stop()), orders.obey(stop({ key: "own", order: own }))];
    finish();
    expect(await Promise.all(both)).toEqual([stopped, stopped]);
    expect(times()).toBe(1);
  });

  it("that found nobody leaves the cause of the end to others", async () => {
    const { orders, finish } = openOrders({ kind: "already-over" });
    finish();
    await orders.obey(stop());
    expect(orders.stopping()).toBe(false);
  });

  it("that could not be carried out for a reason of our own is not done, and can be given again", async () => {
    let times = 0;
    const orders = obeyOrders(file, 1, {
      refuses: () => null,
      attached: () => false,
      movedSince: async () => false,
      async stop() {
        if (++times === 1) throw new Error("/proc is not there");
        return stopped;
      },
      nudge: async () => sent,
      withdraw: () => {},
      contain: async () => ({ kind: "contained" }),
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

describe("a nudge", () => {
  it("is given once, however often it is ordered, and the answer stays the same in the next life", async () => {
    const { orders, finish, times } = openOrders();
    const both = [orders.obey(nudge()), orders.obey(nudge())];
    finish();
    expect(await Promise.all(both)).toEqual([sent, sent]);
    expect(await orders.obey(nudge())).toEqual(sent);
    expect(times()).toBe(1);

    const next = openOrders();
    expect(await next.orders.obey(nudge({ incarnation: 9, epoch: 0 }))).toEqual(sent);
    expect(next.times()).toBe(0);
  });

  it("is withdrawn when it is ordered again with a time that is over, and by nobody who may not order", async () => {
    const { orders, finish, comes, withdrawn } = openOrders();
    const over = (epoch: number) => nudge({ epoch, order: { kind: "nudge", text: "", notAfter: 1 } });
    const first = orders.obey(nudge({ epoch: 2 }));
    void orders.obey(nudge({ epoch: 2 }));
    comes(2);
    void orders.obey(over(1));
    expect(withdrawn).toEqual([]);
    void orders.obey(over(2));
    expect(withdrawn).toEqual(["k"]);
    finish();
    expect(await first).toEqual(sent);
    expect(await orders.obey(over(2))).toEqual(sent);
    expect(withdrawn).toEqual(["k"]);
  });

  it("that was begun when everything stopped is not typed again, and nobody claims that it was sent", async () => {
    const { orders, times } = openOrders();
    void orders.obey(nudge());
    await Promise.resolve();
    expect(times()).toBe(1);

    const next = openOrders();
    next.finish();
    expect(await next.orders.obey(nudge())).toEqual(notSent("not-echoed"));
    expect(next.times()).toBe(0);
  });

  it("that cannot be written down is not begun", async () => {
    mkdirSync(file);
    const { orders, finish, times } = openOrders();
    finish();
    expect(await orders.obey(nudge())).toEqual(notSent("no-input"));
    expect(times()).toBe(0);
  });

  it("that was refused is answered the same again", async () => {
    const first = openOrders(stopped, { kind: "not-sent", because: "attached" });
    expect(await first.orders.obey(nudge())).toEqual(notSent("attached"));
    const { orders, finish, times } = openOrders();
    finish();
    expect(await orders.obey(nudge())).toEqual(notSent("attached"));
    expect(times()).toBe(0);
  });

  it("for another life or from an older monitor is refused, and the right one may still come", async () => {
    const { orders, finish, comes } = openOrders();
    finish();
    expect(await orders.obey(nudge({ incarnation: 2 }))).toEqual(notSent("wrong-incarnation"));
    comes(7);
    expect(await orders.obey(nudge({ epoch: 6 }))).toEqual(notSent("old-epoch"));
    expect(await orders.obey(nudge({ epoch: 7 }))).toEqual(sent);
  });

  it("and a stop may have the same key", async () => {
    const { orders, finish, times } = openOrders();
    finish();
    expect(await orders.obey(nudge())).toEqual(sent);
    expect(await orders.obey(stop())).toEqual(stopped);
    const next = openOrders();
    expect(await next.orders.obey(stop())).toEqual(stopped);
    expect(await next.orders.obey(nudge())).toEqual(sent);
    expect([times(), next.times()]).toEqual([2, 0]);
  });

  it("is remembered among the newest, however many there are", async () => {
    const { orders, finish, times } = openOrders();
    finish();
    for (let n = 0; n < 300; n++) await orders.obey(nudge({ key: `n${n}` }));
    await orders.obey(nudge({ key: "n299" }));
    expect(times()).toBe(300);
  });
});

describe("an order to hold an agent back", () => {
  const contain = (changes: Partial<OrderMessage> = {}): OrderMessage =>
    stop({ order: { kind: "contain", how: "interrupt", reason: "", decidedAt: 1, lastsMs: 1000 }, ...changes });

  it("is carried out once, however often it comes", async () => {
    const { orders, times } = openOrders();
    expect(await Promise.all([orders.obey(contain()), orders.obey(contain())])).toEqual([
      { kind: "contained" },
      { kind: "contained" },
    ]);
    expect(times()).toBe(1);
    await orders.obey(contain({ key: "another" }));
    expect(times()).toBe(2);
  });

  it("for another life or from an older monitor is refused", async () => {
    const { orders, comes, times } = openOrders();
    expect(await orders.obey(contain({ incarnation: 2 }))).toEqual({
      kind: "not-contained",
      because: "wrong-incarnation",
    });
    comes(7);
    expect(await orders.obey(contain({ epoch: 6 }))).toEqual({ kind: "not-contained", because: "old-epoch" });
    expect(times()).toBe(0);
  });
});
