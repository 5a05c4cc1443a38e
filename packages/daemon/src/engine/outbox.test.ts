import type { Action, ActionOutcome } from "@rouse/core";
import { describe, expect, it } from "vitest";
import type { Log } from "../ports/log.ts";
import type { IntendedAction } from "../ports/store.ts";
import { handWoundTimers } from "./hand-wound-timers.test-support.ts";
import { startOutbox } from "./outbox.ts";

const saved = (key: string): IntendedAction => {
  const action: Action = { kind: "resolve-alert", key, agentId: "w" };
  return { key, agentId: "w", createdAt: 0, body: JSON.stringify(action) };
};

/** Somebody to tell, who cannot be reached so many times. */
function world(failures = 0) {
  const time = handWoundTimers();
  const delivered: string[] = [];
  const done: string[] = [];
  const warned: string[] = [];
  const answers: (() => void)[] = [];
  let slow = false;
  let left = failures;
  const carryOut = async ({ key }: Action): Promise<ActionOutcome> => {
    delivered.push(key);
    if (slow) await new Promise<void>((resolve) => answers.push(resolve));
    if (left-- > 0) throw new Error("no connection");
    return "delivered";
  };
  const log: Log = { info() {}, error() {}, warn: (_, message) => void warned.push(message) };
  const outbox = startOutbox(carryOut, time.timers, log, ({ key }) => void done.push(key));
  return {
    outbox,
    time,
    delivered,
    done,
    warned,
    takesItsTime: () => {
      slow = true;
    },
    answer: () => {
      for (const resolve of answers.splice(0)) resolve();
    },
  };
}

describe("the outbox", () => {
  it("delivers what was saved and reports when it is out of our hands", async () => {
    const { outbox, time, delivered, done } = world();
    outbox.send([saved("a"), saved("b")]);
    expect(done).toEqual([]);
    await time.settle();
    expect({ delivered, done, waiting: outbox.waiting() }).toEqual({
      delivered: ["a", "b"],
      done: ["a", "b"],
      waiting: 0,
    });
  });

  it("does not start an action twice while it is under way", async () => {
    const { outbox, time, delivered, done, takesItsTime, answer } = world();
    takesItsTime();
    outbox.send([saved("a")]);
    outbox.send([saved("a"), saved("a")]);
    expect(outbox.waiting()).toBe(1);
    answer();
    await time.settle();
    expect({ delivered, done }).toEqual({ delivered: ["a"], done: ["a"] });
  });

  it("tries again after 1, 2, 4 … seconds, a minute at most, until it gets through", async () => {
    const { outbox, time, delivered, done, warned } = world(9);
    outbox.send([saved("a")]);
    await time.settle();
    const waits: number[] = [];
    for (let next = time.waiting().later[0]; next !== undefined; next = time.waiting().later[0]) {
      waits.push(next / 1000);
      await time.pass(next);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
    expect({ tries: delivered.length, done, waiting: outbox.waiting() }).toEqual({
      tries: 10,
      done: ["a"],
      waiting: 0,
    });
    expect(warned).toHaveLength(9);
  });

  it("one that cannot be delivered holds up no other", async () => {
    const { outbox, time, done } = world(1);
    outbox.send([saved("a"), saved("b")]);
    await time.settle();
    expect(done).toEqual(["b"]);
  });

  it("does nothing more once it is stopped: what is unfinished stays saved for the next run", async () => {
    const failing = world(99);
    failing.outbox.send([saved("a")]);
    await failing.time.settle();
    failing.outbox.stop();
    failing.outbox.stop();
    failing.outbox.send([saved("b")]);
    await failing.time.pass(3_600_000);
    expect(failing.delivered).toEqual(["a"]);

    const slow = world();
    slow.takesItsTime();
    slow.outbox.send([saved("a")]);
    slow.outbox.stop();
    slow.answer();
    await slow.time.settle();
    expect(slow.done).toEqual([]);
  });
});
