import { describe, expect, it } from "vitest";
import { scriptedRouse } from "../agent/scripted-rouse.test-support.ts";
import { steerNudges } from "./ai-steering.ts";
import { carryNudges } from "./carry-nudges.ts";

/** A Rouse that has these nudges for its agent, each until a beat says that it was read. */
function nudging(...ids: string[]) {
  const rouse = scriptedRouse();
  const read = (): string[] => rouse.beats().flatMap(({ seen = [], seenBy }) => (seenBy === "agent" ? seen : []));
  rouse.script.commands = () =>
    ids
      .filter((id) => !read().includes(id))
      .map((id) => ({ id, kind: "nudge", because: "reminder", message: `message ${id}` }));
  const later = async (): Promise<void> => {
    const known = rouse.beats().length;
    await rouse.until(() => rouse.beats().length > known + 1);
  };
  return { rouse, read, later };
}

describe("nudges on their way to a model", () => {
  it("are read once the model has answered, not when they were taken, and go again when it has not", async () => {
    const { rouse, read, later } = nudging("n1", "n2");
    const { agent } = rouse.agent();
    let news = 0;
    const nudges = carryNudges(agent, () => {
      news += 1;
    });
    await rouse.until(() => news === 2);
    const first = nudges.take();
    expect([first.texts, nudges.areWaiting()]).toEqual([["message n1", "message n2"], false]);
    await later();
    expect(read()).toEqual([]);
    first.unanswered();
    expect([nudges.areWaiting(), news]).toEqual([true, 3]);
    const again = nudges.take();
    expect(again.texts).toEqual(["message n1", "message n2"]);
    again.answered();
    await rouse.until(() => read().includes("n1") && read().includes("n2"));
  });

  it("are told of once: an end after the end means nothing", async () => {
    const { rouse, read, later } = nudging("n1", "n2");
    const { agent } = rouse.agent();
    const nudges = carryNudges(agent);
    await rouse.until(nudges.areWaiting);
    const one = nudges.take(1);
    one.unanswered();
    one.unanswered();
    one.answered();
    await later();
    expect(read()).toEqual([]);
    await rouse.until(() => rouse.beats().length > 3);
    const texts = nudges.take().texts;
    expect([...texts]).toEqual([...new Set(texts)]);
  });
});

describe("nudges that are steered into a run", () => {
  type End = (type: "delivered" | "not-delivered" | "broken") => void;

  /** What a run was told, and how each of that ends. */
  function run() {
    const told: { readonly text: string; readonly end: End }[] = [];
    const steer = (text: string) =>
      new Promise<{ type: "delivered" | "not-delivered" }>((resolve, reject) => {
        told.push({ text, end: (type) => (type === "broken" ? reject(new Error("over")) : resolve({ type })) });
      });
    return { told, steer };
  }

  it("are read when a request that had them was answered", async () => {
    const { rouse, read, later } = nudging("n1");
    const nudges = steerNudges(rouse.agent().agent);
    const one = nudges.steer(run());
    const { text, end } = await rouse.until(() => one.told[0]);
    expect(text).toBe("message n1");
    nudges.wereIn([{ role: "user", content: "message n1" }]);
    end("delivered");
    await later();
    expect(read()).toEqual([]);
    nudges.wereIn([{ role: "user", content: "something else" }]);
    await later();
    expect(read()).toEqual([]);
    nudges.wereIn([{ role: "user", content: "message n1" }]);
    await rouse.until(() => read().includes("n1"));
  });

  it("are read without a look at the messages where nobody may see them", async () => {
    const { rouse, read } = nudging("n1");
    const nudges = steerNudges(rouse.agent().agent);
    const one = nudges.steer(run());
    (await rouse.until(() => one.told[0])).end("delivered");
    await rouse.until(() => {
      nudges.wereIn();
      return read().includes("n1");
    });
  });

  it.each(["not-delivered", "broken"] as const)("wait for the next run when this one is over: %s", async (how) => {
    const { rouse, read, later } = nudging("n1");
    const nudges = steerNudges(rouse.agent().agent);
    const over = nudges.steer(run());
    (await rouse.until(() => over.told[0])).end(how);
    await later();
    expect([over.told.length, nudges.mail.areWaiting(), read()]).toEqual([1, true, []]);
    const next = nudges.steer(run());
    expect(next.told.map(({ text }) => text)).toEqual(["message n1"]);
  });

  it("go to the newest run, and what the one before never took goes along", async () => {
    const { rouse } = nudging("n1");
    const nudges = steerNudges(rouse.agent().agent);
    const first = nudges.steer(run());
    await rouse.until(() => first.told[0]);
    const second = nudges.steer(run());
    expect(second.told.map(({ text }) => text)).toEqual(["message n1"]);
    first.told[0]?.end("not-delivered");
    await rouse.until(() => rouse.beats().length > 2);
    expect([second.told.length, nudges.mail.areWaiting()]).toEqual([1, false]);
  });

  it("that were in a request which came to nothing go again", async () => {
    const { rouse, read } = nudging("n1");
    const nudges = steerNudges(rouse.agent().agent);
    const one = nudges.steer(run());
    (await rouse.until(() => one.told[0])).end("delivered");
    await rouse.until(() => {
      nudges.brokenOff();
      return one.told[1];
    });
    expect(read()).toEqual([]);
  });
});
