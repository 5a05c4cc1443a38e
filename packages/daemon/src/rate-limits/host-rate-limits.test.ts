import { expect, it } from "vitest";
import { taskWorld } from "../tasks/task-world.test-support.ts";
import { hostRateLimits } from "./host-rate-limits.ts";

const allow = { requests: { most: 1, perMs: 31 * 86_400_000 } };
const one = { cost: { requests: 1 }, allow };

it("rate limits that others have made up keep nobody waiting: one more is refused for good", async () => {
  const world = await taskWorld();
  const limits = hostRateLimits(world);
  for (let agent = 0; agent < 10; agent++)
    await Promise.all(
      Array.from({ length: 100 }, (_, i) => limits.take(`made-up-${agent}-${i}`, one, `agent:${agent}`)),
    );
  const refused = { code: "rate-limit-refused", retryable: false };
  await expect(limits.take("github", one, "owner")).rejects.toMatchObject(refused);
  await expect(limits.take("made-up-0-100", one, "agent:0")).rejects.toMatchObject(refused);
  await expect(limits.take("made-up-3-7", { ...one, cost: {} }, "owner")).resolves.toEqual({ waitMs: 0 });
});
