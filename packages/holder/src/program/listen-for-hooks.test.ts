import { Agent, type RequestOptions, request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HookEar, listenForHooks } from "./listen-for-hooks.ts";
import { type Connection, recogniseCaller } from "./recognise-caller.ts";

const heard: string[] = [];
const asked: Connection[] = [];
let admits = true;
const callerOf = recogniseCaller(() => [process.pid]);
let ear: HookEar;
beforeAll(async () => {
  ear = await listenForHooks(
    (body) => {
      heard.push(body);
      return { body: {} };
    },
    (connection) => {
      asked.push(connection);
      return admits && callerOf(connection) === "program";
    },
  );
});
afterAll(() => ear.close());

const call = (body: string, token = ear.token): Promise<Response> =>
  fetch(ear.url, { method: "POST", body, headers: { authorization: `Bearer ${token}` } });

/** By a connection of one's own. */
const post = (agent: Agent, from: RequestOptions = {}): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${ear.token}` };
    request(ear.url, { method: "POST", agent, headers, ...from }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    })
      .once("error", reject)
      .end("{}");
  });

describe("whoever hears hooks", () => {
  it("answers that nothing is to be changed", async () => {
    const answer = await call('{"hook_event_name":"PreToolUse"}');
    expect([answer.status, await answer.text()]).toEqual([200, "{}"]);
    expect(heard.at(-1)).toBe('{"hook_event_name":"PreToolUse"}');
  });

  it("does not listen to somebody without the secret of this life", async () => {
    const before = heard.length;
    expect((await call("{}", "guessed")).status).toBe(401);
    expect((await fetch(ear.url, { method: "POST", body: "{}" })).status).toBe(401);
    expect(heard.length).toBe(before);
  });

  it("does not listen to somebody who is not admitted, and asks once for each connection", async () => {
    const before = heard.length;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = () => post(agent);
    asked.length = 0;
    admits = false;
    expect([await ask(), await ask()]).toEqual([403, 403]);
    admits = true;
    expect(await ask()).toBe(403);
    agent.destroy();
    expect(asked).toEqual([{ from: expect.any(Number), to: Number(new URL(ear.url).port) }]);
    expect(heard.length).toBe(before);
    const other = new Agent();
    expect(await post(other)).toBe(200);
    other.destroy();
  });

  it("does not listen to another address of this machine, where the program's own port can be borrowed", async () => {
    const own = new Agent({ keepAlive: true });
    expect(await post(own)).toBe(200);
    const other = new Agent();
    expect(await post(other, { localAddress: "127.0.0.2", localPort: asked.at(-1)?.from ?? 0 })).toBe(403);
    for (const agent of [own, other]) agent.destroy();
  });

  it("listens on this machine only", () => {
    expect(new URL(ear.url).hostname).toBe("127.0.0.1");
  });

  it("answers a body that is too long all the same, unread", async () => {
    const before = heard.length;
    const answer = await call("x".repeat(1024 * 1024 + 1));
    expect(await answer.text()).toBe("{}");
    expect(heard.length).toBe(before);
  });

  it("answers a thousand calls, and says how quickly", async () => {
    const body = JSON.stringify({
      hook_event_name: "PostToolBatch",
      tool_calls: [{ tool_response: "x".repeat(4000) }],
    });
    const times: number[] = [];
    for (let i = 0; i < 1000; i++) {
      const from = performance.now();
      await (await call(body)).text();
      times.push(performance.now() - from);
    }
    times.sort((a, b) => a - b);
    const [half, most] = [times[500] ?? 0, times[990] ?? 0];
    process.stdout.write(`a hook is answered within ${half.toFixed(2)} ms (p50), ${most.toFixed(2)} ms (p99)\n`);
    // 20 ms is what a tool call may take longer for it; a test shares its machine with others.
    expect(half).toBeLessThan(20);
  });
});
