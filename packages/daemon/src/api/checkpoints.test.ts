import { request } from "node:http";
import type { Problem } from "@rouse/contract";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CheckpointWorld, largeState, task, turn } from "../checkpoints/checkpoint-world.test-support.ts";
import type { AgentSpeaker } from "./guard.ts";
import { type ServedCheckpoints, serveCheckpoints } from "./serve-checkpoints.test-support.ts";

let served: ServedCheckpoints;
let world: CheckpointWorld;

beforeEach(async () => {
  served = await serveCheckpoints();
  ({ world } = served);
});
afterEach(() => served.app.close());

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function ask(path: string, sent?: unknown): Promise<Answer> {
  const body =
    sent === undefined ? {} : { method: "POST", body: typeof sent === "string" ? sent : JSON.stringify(sent) };
  const response = await fetch(served.base + path, { ...body, headers: { "content-type": "application/json" } });
  return { status: response.status, body: await response.json() };
}

const chain = `/api/v1/tasks/${task}/checkpoints`;
const codeOf = ({ body }: Answer) => (body as Problem).code;
const messageOf = ({ body }: Answer) => (body as Problem).detail;
const idOf = ({ body }: Answer) => (body as { id: string }).id;

describe("checkpoints over HTTP", () => {
  it("are saved, sent again, listed, shown with their state and verified", async () => {
    const first = await ask(chain, { step: 1, stepName: "plan", state: { b: 1, a: [null, "é"] }, agentId: "worker-7" });
    expect(first).toMatchObject({ status: 201, body: { step: 1, agentId: "worker-7", incarnation: null, number: 1 } });
    const again = await ask(chain, { step: 1, stepName: "plan", state: { a: [null, "é"], b: 1 }, agentId: "worker-7" });
    expect(again).toEqual({ status: 200, body: first.body });
    const second = await ask(chain, { step: 2, state: largeState("two"), parent: idOf(first) });
    expect(second.status).toBe(201);
    expect(await ask(chain)).toEqual({
      status: 200,
      body: { taskId: task, checkpoints: [second.body, first.body], next: null },
    });
    expect(await ask(`${chain}?limit=1`)).toMatchObject({ body: { checkpoints: [second.body], next: "2" } });
    expect(await ask(`${chain}?limit=1&cursor=2`)).toMatchObject({ body: { checkpoints: [first.body], next: null } });
    expect(await ask(`/api/v1/checkpoints/${idOf(second)}`)).toEqual({
      status: 200,
      body: { ...(second.body as object), state: largeState("two") },
    });
    expect(await ask(`${chain}/verify`)).toMatchObject({ status: 200, body: { sound: true, more: false } });
  });

  it("are refused with a reason that helps", async () => {
    expect(codeOf(await ask(chain, "{"))).toBe("bad-request");
    expect(codeOf(await ask(chain, ""))).toBe("bad-request");
    expect(messageOf(await ask(chain, '{"step":1,"state":1e999}'))).toMatch(/too large/);
    expect(messageOf(await ask(chain, '{"step":1,"state":"\\ud83d"}'))).toMatch(/half a character/);
    expect(codeOf(await ask("/api/v1/tasks/a%20b/checkpoints", { step: 1 }))).toBe("bad-request");
    expect(await ask(chain, { step: 1, parent: "a".repeat(64) })).toMatchObject({ status: 409 });
    expect(await ask(`/api/v1/checkpoints/${"a".repeat(64)}`)).toMatchObject({ status: 404 });
    expect(await ask(`${chain}?limit=0`)).toMatchObject({ status: 400 });
    expect(await ask(chain, `{"step":1,"state":${"[".repeat(40)}${"]".repeat(40)}}`)).toMatchObject({ status: 400 });
  });
});

describe("a state that is too large", () => {
  it("of nearly 16 MiB is taken, one of more is refused with advice", async () => {
    const fits = "x".repeat(16 * 1024 * 1024 - 2);
    expect((await ask(chain, { step: 1, state: fits })).status).toBe(201);
    const over = await ask(chain, { step: 2, state: `${fits}x` });
    expect(over.status).toBe(413);
    expect(messageOf(over)).toMatch(/16 MiB.*keep large data in the workspace/);
    expect((await ask(chain)).body).toMatchObject({ checkpoints: [{ step: 1 }] });
  });

  it("of a million small values is refused before it is parsed", async () => {
    const many = await ask(chain, `{"step":1,"state":[${"{},".repeat(1_000_000)}{}]}`);
    expect(many.status).toBe(413);
    expect(messageOf(many)).toMatch(/200000 values/);
    // Commas and brackets in texts are no values.
    const text = `[{,\\",${"{,[".repeat(300_000)}`;
    expect((await ask(chain, `{"step":1,"state":"${text}"}`)).status).toBe(201);
  });

  it("has to wait while many others are being received", async () => {
    const release = world.stalls();
    const state = "x".repeat(15 * 1024 * 1024);
    const first = Array.from({ length: 4 }, (_, i) =>
      ask(`/api/v1/tasks/t-${i}/checkpoints`, { step: 1, state: `${i}${state}` }),
    );
    while (world.told.length < 4) await new Promise((resolve) => setImmediate(resolve));
    const late = await ask(chain, { step: 1, state });
    expect(late).toMatchObject({ status: 503, body: { code: "store-unavailable", retryable: true } });
    release();
    expect((await Promise.all(first)).map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect((await ask(chain, { step: 1, state })).status).toBe(201);
  });
});

describe("one that is announced and not sent", () => {
  const dawdler: AgentSpeaker = { kind: "agent", agentId: "dawdler", taskId: task, incarnation: 1 };
  const other: AgentSpeaker = { ...dawdler, agentId: "other" };
  const largest = 17 * 1024 * 1024;

  /** Begins requests of these lengths in the name of an agent. */
  const begin = (agent: AgentSpeaker | null, ...lengths: number[]) => {
    served.agent = agent;
    return lengths.map((length) => {
      const sending = request(served.base + chain, { method: "POST", headers: { "content-length": length } });
      sending.on("error", () => undefined).flushHeaders();
      return sending;
    });
  };

  it("keeps its own agent waiting, and nobody else", async () => {
    const begun = begin(dawdler, largest, largest, largest, largest);
    let refused = 0;
    for (const sending of begun) sending.on("response", () => refused++);
    while (refused < 3) await turn();
    const large = { step: 1, state: largeState("a") };
    expect((await ask(chain, large)).status).toBe(503);
    expect((await ask(chain, { step: 2 })).status).toBe(201);
    served.agent = other;
    expect((await ask(chain, { ...large, step: 3 })).status).toBe(201);
    served.agent = dawdler;
    for (const sending of begun) sending.destroy();
    while ((await ask(chain, { ...large, step: 4 })).status === 503) await turn();
  });

  it("leaves room for small ones, also when many do it", async () => {
    const begun = begin(null, largest, largest, largest, largest);
    while ((await ask(chain, { step: 1, state: largeState("a") })).status !== 503) await turn();
    expect((await ask(chain, { step: 2 })).status).toBe(201);
    for (const sending of begun) sending.destroy();
  });

  it("takes room however small it is, so that one agent's very many have to wait", async () => {
    // 64 of 16 KiB are 1 MiB; by their own size they are nothing.
    const begun = begin(dawdler, ...Array.from({ length: 64 }, () => 10));
    while ((await ask(chain, { step: 1 })).status !== 503) await turn();
    served.agent = other;
    expect((await ask(chain, { step: 1 })).status).toBe(201);
    served.agent = dawdler;
    for (const sending of begun) sending.destroy();
    while ((await ask(chain, { step: 2 })).status === 503) await turn();
  });
});

describe("the checkpoints of a task", () => {
  it("that nobody knows are refused, of one without any they are none, and its own agent may ask for them", async () => {
    const unknown = { status: 404, body: { code: "task-unknown" } };
    for (const path of [chain, `${chain}/verify`]) expect(await ask(path)).toMatchObject(unknown);
    served.agent = { kind: "agent", agentId: "worker-1", taskId: task, incarnation: 1 };
    for (const path of [chain, `${chain}/verify`]) expect((await ask(path)).status).toBe(200);
    served.agent = null;
    served.tasks.add(task);
    for (const path of [chain, `${chain}/verify`]) expect((await ask(path)).status).toBe(200);
    served.tasks.delete(task);
    await world.save(1);
    for (const path of [chain, `${chain}?cursor=1`, `${chain}/verify`]) expect((await ask(path)).status).toBe(200);
  });
});

describe("whoever hangs up before the answer", () => {
  const connections = () =>
    new Promise<number>((resolve, reject) =>
      served.app.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
    );

  it("is in the way for as long as what they sent is being saved", async () => {
    const release = world.stalls();
    const state = "x".repeat(15 * 1024 * 1024);
    const leaving = new AbortController();
    const left = Array.from({ length: 4 }, (_, i) =>
      fetch(`${served.base}/api/v1/tasks/t-${i}/checkpoints`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ step: 1, state: `${i}${state}` }),
        signal: leaving.signal,
      }).catch(() => "left"),
    );
    while (world.told.length < 4) await turn();
    leaving.abort();
    expect(await Promise.all(left)).toEqual(["left", "left", "left", "left"]);
    while ((await connections()) > 0) await turn();
    expect(await ask(chain, { step: 1, state })).toMatchObject({ status: 503, body: { retryable: true } });
    release();
    while (world.disk.checkpoints.size < 4) await turn();
    expect((await ask(chain, { step: 1, state })).status).toBe(201);
  });

  it("before all of it came leaves room for others", async () => {
    const leaving = new AbortController();
    const half = new ReadableStream({ start: (part) => part.enqueue(new Uint8Array(1_000_000)) });
    const open = { method: "POST", body: half, duplex: "half", signal: leaving.signal } as RequestInit;
    const sending = fetch(served.base + chain, open).catch(() => "left");
    while ((await connections()) === 0) await turn();
    leaving.abort();
    expect(await sending).toBe("left");
    while ((await connections()) > 0) await turn();
    const state = "x".repeat(15 * 1024 * 1024);
    const four = [0, 1, 2, 3].map((i) => ask(`/api/v1/tasks/t-${i}/checkpoints`, { step: 1, state: `${i}${state}` }));
    expect((await Promise.all(four)).map(({ status }) => status)).toEqual([201, 201, 201, 201]);
  });
});

describe("an agent with a token of its own", () => {
  const own: AgentSpeaker = { kind: "agent", agentId: "worker-1", taskId: task, incarnation: 3 };

  it("saves and reads the checkpoints of its task, in its own name", async () => {
    served.agent = own;
    const saved = await ask(chain, { step: 1, state: 1 });
    expect(saved).toMatchObject({ status: 201, body: { agentId: "worker-1", incarnation: 3 } });
    expect((await ask(chain)).status).toBe(200);
    expect((await ask(`${chain}/verify`)).status).toBe(200);
    expect((await ask(`/api/v1/checkpoints/${idOf(saved)}`)).status).toBe(200);
    expect(served.refused).toEqual([]);
  });

  it("that names no task does so for what it took from the queue, for as long as it holds it", async () => {
    served.agent = { ...own, taskId: null };
    expect(codeOf(await ask(chain, { step: 1 }))).toBe("forbidden");
    served.claims.set(task, "worker-1");
    expect((await ask(chain, { step: 1 })).status).toBe(201);
    expect((await ask(chain)).status).toBe(200);
    served.claims.set(task, "worker-2");
    expect(codeOf(await ask(chain, { step: 2 }))).toBe("forbidden");
  });

  it("has no say about another task or in another name, and it is noted", async () => {
    const other = await ask("/api/v1/tasks/other/checkpoints", { step: 1 });
    served.agent = own;
    const trespasses = [
      await ask("/api/v1/tasks/other/checkpoints", { step: 2 }),
      await ask("/api/v1/tasks/other/checkpoints"),
      await ask("/api/v1/tasks/other/checkpoints/verify"),
      await ask(`/api/v1/checkpoints/${idOf(other)}`),
      await ask(chain, { step: 1, agentId: "worker-2" }),
    ];
    expect(trespasses.map(codeOf)).toEqual(Array.from({ length: 5 }, () => "forbidden"));
    expect(served.refused.map(({ because }) => because)).toEqual([
      ...Array.from({ length: 4 }, () => "other-task"),
      "other-agent",
    ]);
    served.agent = { ...own, taskId: null };
    expect(codeOf(await ask(chain, { step: 1 }))).toBe("forbidden");
    expect(world.disk.checkpoints.size).toBe(1);
  });

  it("may ask no other paths", async () => {
    served.agent = own;
    const id = "a".repeat(64);
    const others = [
      ["DELETE", chain],
      ["POST", `${chain}/verify`],
      ["POST", `/api/v1/checkpoints/${id}`],
      ["GET", `/api/v1/tasks//checkpoints`],
      ["GET", `${chain}/`],
      ["GET", `/api/tasks/${task}/checkpoints`],
    ] as const;
    for (const [method, url] of others) expect((await served.app.inject({ method, url })).statusCode, url).toBe(403);
    expect(served.refused).toHaveLength(others.length);
  });
});
