import { describe, expect, it } from "vitest";
import { taskWorld } from "../tasks/task-world.test-support.ts";
import { hostRateLimits } from "./host-rate-limits.ts";

const allow = { requests: { most: 1, perMs: 60_000 } };
const take = { cost: { requests: 1 }, allow };
const takeOfMonth = { cost: { requests: 1 }, allow: { requests: { most: 1, perMs: 31 * 86_400_000 } } };

async function limitsOf() {
  const { engine, commits, pass } = await taskWorld();
  return { pass, limits: hostRateLimits({ engine, commits }) };
}

describe("rate limits of many", () => {
  it("are a hundred for each who begins them, so that nobody uses up the names of others", async () => {
    const { limits } = await limitsOf();
    for (let n = 0; n < 100; n++) await limits.take(`a-${n}`, take, "a");
    await expect(limits.take("a-100", take, "a")).rejects.toThrow("there are too many rate limits");
    expect(await limits.take("b-0", take, "b")).toEqual({ waitMs: 0 });
    // One that is known can be taken from, whoever began it.
    expect((await limits.take("a-0", take, "b")).waitMs).toBeGreaterThan(0);
  });

  it("go when nobody has used them for their whole period, and only then", async () => {
    const { limits, pass } = await limitsOf();
    for (let n = 0; n < 100; n++) await limits.take(`a-${n}`, take, "a");
    pass(59_000);
    await limits.take("a-7", take, "a");
    await expect(limits.take("a-100", take, "a")).rejects.toThrow("there are too many rate limits");
    pass(2000);
    expect(await limits.take("a-100", take, "a")).toEqual({ waitMs: 0 });
    // What was reserved in the one that is still used is not given out again.
    expect(await limits.take("a-7", take, "a")).toEqual({ waitMs: 59_000 });
  });
});

it("rate limits that others have made up keep nobody waiting: one more is refused for good", async () => {
  const world = await taskWorld();
  const limits = hostRateLimits(world);
  for (let agent = 0; agent < 10; agent++)
    await Promise.all(
      Array.from({ length: 100 }, (_, i) => limits.take(`made-up-${agent}-${i}`, takeOfMonth, `agent:${agent}`)),
    );
  const refused = { code: "rate-limit-refused", retryable: false };
  await expect(limits.take("github", takeOfMonth, "owner")).rejects.toMatchObject(refused);
  await expect(limits.take("made-up-0-100", takeOfMonth, "agent:0")).rejects.toMatchObject(refused);
  await expect(limits.take("made-up-3-7", { ...takeOfMonth, cost: {} }, "owner")).resolves.toEqual({ waitMs: 0 });
});
