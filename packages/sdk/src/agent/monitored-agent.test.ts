import { expect, it } from "vitest";
import type { Agent } from "./agent-api.ts";
import { MonitoredAgent } from "./monitored-agent.ts";
import { scriptedRouse } from "./scripted-rouse.test-support.ts";

const optionsFor = (rouse: ReturnType<typeof scriptedRouse>) => ({
  ...{ id: "m", url: "http://rouse.test", token: "t", fetch: rouse.fetch, env: {} },
});

class Counter extends MonitoredAgent<number> {
  override async run(agent: Agent): Promise<number> {
    agent.phase("counting");
    return agent.tool("count", {}, () => 7);
  }
}

class Broken extends MonitoredAgent {
  static readonly error = new Error("broken");
  override run(): never {
    throw Broken.error;
  }
}

it("an agent as a class returns what its work returns, and says that it has finished", async () => {
  const rouse = scriptedRouse();
  expect(await new Counter(optionsFor(rouse)).start()).toBe(7);
  expect(rouse.beats().at(-1)).toMatchObject({ status: "FINISHED", phase: "counting", toolCallCount: 1 });
});

it("what its work throws is thrown untouched, and Rouse knows that it failed", async () => {
  const rouse = scriptedRouse();
  await expect(new Broken(optionsFor(rouse)).start()).rejects.toBe(Broken.error);
  expect(rouse.beats().at(-1)?.status).toBe("FAILED");
});
