import { request } from "node:http";
import type { Problem } from "@rouse/contract";
import { afterEach, beforeEach, expect, it } from "vitest";
import { task } from "../checkpoints/checkpoint-world.test-support.ts";
import { type ServedCheckpoints, serveCheckpoints } from "./serve-checkpoints.test-support.ts";

// In a process of its own: what earlier tests left in memory would hide what these take.

let served: ServedCheckpoints;
beforeEach(async () => {
  served = await serveCheckpoints();
});
afterEach(() => served.app.close());

const pieces = 100;
const piece = Buffer.alloc(1_000_000, "x");

/** Sends 100 MB to the last byte, whatever is answered meanwhile, and says how much the process grew. */
function sendAll(announces: boolean): Promise<{ status: number; problem: Problem; grew: number }> {
  const before = process.memoryUsage().rss;
  let most = before;
  const headers = announces ? { "content-length": pieces * piece.length } : {};
  return new Promise((resolve, reject) => {
    const sending = request(`${served.base}/api/v1/tasks/${task}/checkpoints`, { method: "POST", headers });
    sending.on("error", reject);
    sending.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, problem: JSON.parse(text), grew: most - before }),
      );
    });
    let sent = 0;
    const sendMore = (): void => {
      most = Math.max(most, process.memoryUsage().rss);
      if (sent++ === pieces) sending.end();
      else if (sending.write(piece)) setImmediate(sendMore);
      else sending.once("drain", sendMore);
    };
    sendMore();
  });
}

it.each([
  ["that says how large it is", true],
  ["that comes piece by piece", false],
])("a state of 100 MB %s gets a clear answer, and the daemon does not grow by it", async (_, announces) => {
  const { status, problem, grew } = await sendAll(announces);
  expect(status).toBe(413);
  expect(problem.detail).toMatch(/at most 17 MiB in one request.*keep large data in the workspace/);
  expect(grew).toBeLessThan(60_000_000);
  const { world } = served;
  expect(world.disk.checkpoints.size).toBe(0);
  await world.commits.drain();
  expect(await world.events()).toMatchObject([{ type: "CHECKPOINT_REFUSED", payload: { taskId: task } }]);
});
