import { getEventListeners } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { fetchWithRetry, RetryAfterError, retry } from "./retry.ts";
import { readRetryAfter } from "./retry-after.ts";

const quick = { firstMs: 1, longestMs: 4, random: () => 0.5 };
const failing = (times: number, error: unknown = new Error("down")) => {
  let calls = 0;
  return () => (++calls <= times ? Promise.reject(error) : Promise.resolve(calls));
};

describe("a retry", () => {
  it("calls until it goes well, waiting twice as long each time up to the longest", async () => {
    const waits: number[] = [];
    expect(await retry(failing(4), { ...quick, onRetry: ({ waitMs }) => waits.push(waitMs) })).toBe(5);
    expect(waits).toEqual([0.5, 1, 2, 2]);
  });

  it("gives up after so many tries, with the last error", async () => {
    await expect(retry(failing(3), { ...quick, attempts: 3 })).rejects.toThrow("down");
  });

  it("does not try again what cannot help", async () => {
    const seen: number[] = [];
    const call = (attempt: number) => {
      seen.push(attempt);
      throw new TypeError("wrong");
    };
    await expect(retry(call, { ...quick, isRetryable: (error) => !(error instanceof TypeError) })).rejects.toThrow(
      "wrong",
    );
    expect(seen).toEqual([1]);
  });

  it("waits no shorter than it is asked to, and begins nothing beyond its budget", async () => {
    const waits: number[] = [];
    const asked = new RetryAfterError(429, 5);
    await retry(failing(1, asked), { ...quick, onRetry: ({ waitMs }) => waits.push(waitMs) });
    expect(waits).toEqual([5.5]);
    const long = new RetryAfterError(429, 60_000);
    await expect(retry(failing(1, long), { ...quick, budgetMs: 1000 })).rejects.toBe(long);
  });

  it("is broken off in the middle of a wait", async () => {
    const gaveUp = new AbortController();
    const call = retry(failing(9), {
      firstMs: 60_000,
      random: () => 1,
      signal: gaveUp.signal,
      onRetry: () => gaveUp.abort(new Error("enough")),
    });
    await expect(call).rejects.toThrow("enough");
  });

  it("refuses rules that make no sense", async () => {
    await expect(retry(() => 1, { attempts: 0 })).rejects.toThrow(/attempts of a retry is a number above 0/);
  });
});

it("Retry-After is seconds or a date, and anything else says nothing", () => {
  const now = Date.UTC(2026, 0, 1);
  expect(readRetryAfter("120", now)).toBe(120_000);
  expect(readRetryAfter("Thu, 01 Jan 2026 00:01:30 GMT", now)).toBe(90_000);
  expect(readRetryAfter("Wed, 31 Dec 2025 00:00:00 GMT", now)).toBe(0);
  for (const nothing of [null, "", "soon", "-5"])
    expect(readRetryAfter(nothing, Date.UTC(2026, 0, 1))).toSatisfy((ms) => ms === null || ms === 0);
  expect(readRetryAfter("soon", now)).toBeNull();
});

it("Retry-After is read as HTTP writes dates, in any zone, and guesses at nothing", () => {
  const now = Date.UTC(2026, 0, 1);
  const read = (value: string) => readRetryAfter(value, now);
  expect(read("Thu, 01 Jan 2026 02:01:30 +0200")).toBe(90_000);
  expect(read("Wed, 31 Dec 2025 16:01:30 PST")).toBe(90_000);
  expect(read("Thursday, 01-Jan-26 00:01:30 GMT")).toBe(90_000);
  // No zone is written, and it is not ours: only a machine elsewhere than in Greenwich would show it.
  expect(read("Thu Jan  1 00:01:30 2026")).toBe(90_000);
  for (const garbage of ["-5", "in 120", "1e3", "0x10", "120, 240", "Infinity", "NaN", "120s", "Jan 2030"])
    expect(read(garbage), garbage).toBeNull();
  expect(read("9".repeat(400))).toBe(Number.MAX_SAFE_INTEGER);
});

it("a wait that is asked for is never longer than a day, nor one that makes no sense", async () => {
  const waits: number[] = [];
  for (const retryAfterMs of [1e300, Number.POSITIVE_INFINITY, Number.NaN, -1, "9"]) {
    const gaveUp = new AbortController();
    const call = retry(() => Promise.reject({ retryAfterMs }), {
      firstMs: 1,
      random: () => 0,
      signal: gaveUp.signal,
      onRetry({ waitMs }) {
        waits.push(waitMs);
        gaveUp.abort(new Error("seen"));
        throw new Error("of the listener");
      },
    });
    await expect(call).rejects.toThrow("seen");
  }
  expect(waits).toEqual([86_400_000, 86_400_000, 0, 0, 0]);
});

it("an abort is nothing to try again, whoever's signal it was", async () => {
  let calls = 0;
  const call = () => {
    calls += 1;
    throw new DOMException("enough", "AbortError");
  };
  await expect(retry(call, quick)).rejects.toThrow("enough");
  expect(calls).toBe(1);
  await expect(retry(call, { ...quick, signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow("before");
  expect(calls).toBe(1);
});

describe("fetch with retries", () => {
  let server: Server | null = null;
  afterEach(() => void server?.close());

  async function serve(...answers: { status: number; after?: string }[]): Promise<{ url: string; bodies: string[] }> {
    const bodies: string[] = [];
    server = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += String(chunk);
      bodies.push(body);
      const { status, after } = answers[Math.min(bodies.length, answers.length) - 1] ?? { status: 500 };
      response.writeHead(status, after === undefined ? {} : { "retry-after": after });
      response.end(`answer ${bodies.length}`);
    });
    await new Promise<void>((listening) => server?.listen(0, "127.0.0.1", listening));
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, bodies };
  }

  it("waits and sends the same again where the server says 429 or 503", async () => {
    const { url, bodies } = await serve({ status: 429, after: "0" }, { status: 503 }, { status: 200 });
    const response = await fetchWithRetry(quick)(url, { method: "POST", body: "work" });
    expect([response.status, await response.text()]).toEqual([200, "answer 3"]);
    expect(bodies).toEqual(["work", "work", "work"]);
  });

  it("gives back the last answer when the server never lets it through, and any other answer at once", async () => {
    const { url, bodies } = await serve({ status: 429 });
    const response = await fetchWithRetry({ ...quick, attempts: 2 })(url);
    expect([response.status, await response.text(), bodies.length]).toEqual([429, "answer 2", 2]);
    server?.close();
    const other = await serve({ status: 500 });
    expect((await fetchWithRetry(quick)(other.url)).status).toBe(500);
    expect(other.bodies).toHaveLength(1);
  });

  const broken = (answers: (Response | Error)[]) => {
    const asked: RequestInit[] = [];
    const fetchOnce = async (_: unknown, init?: RequestInit): Promise<Response> => {
      asked.push(init ?? {});
      const answer = answers[Math.min(asked.length, answers.length) - 1];
      if (answer instanceof Response) return answer;
      throw answer;
    };
    return { asked, fetchOnce };
  };
  const reset = new TypeError("fetch failed");

  it("sends again over a broken connection only what may be done twice", async () => {
    const tries = async (init: RequestInit): Promise<number> => {
      const { asked, fetchOnce } = broken([reset, new Response("fine")]);
      await fetchWithRetry(quick, fetchOnce)("http://x.test/", init).catch(() => null);
      return asked.length;
    };
    expect(await tries({})).toBe(2);
    expect(await tries({ method: "PUT", body: "x" })).toBe(2);
    // It may have been done before the connection broke.
    expect(await tries({ method: "POST", body: "x" })).toBe(1);
    expect(await tries({ method: "POST", body: "x", headers: { "Idempotency-Key": "1" } })).toBe(2);
    expect(await tries({ method: "PUT", body: new ReadableStream(), duplex: "half" } as RequestInit)).toBe(1);
    expect(await tries({ method: "PUT", body: (async function* () {})() as never, duplex: "half" } as never)).toBe(1);
  });

  it("sends a request whose body can be read once only once, and what its owner lets try again as often as they say", async () => {
    const { asked, fetchOnce } = broken([new Response("", { status: 503 }), new Response("fine")]);
    const request = new Request("http://x.test/", { method: "PUT", body: "x" });
    expect((await fetchWithRetry(quick, fetchOnce)(request)).status).toBe(503);
    expect(asked).toHaveLength(1);
    const owned = broken([reset, new Response("fine")]);
    const post = { method: "POST", body: "x" };
    expect(
      (await fetchWithRetry({ ...quick, isRetryable: () => true }, owned.fetchOnce)("http://x.test/", post)).status,
    ).toBe(200);
  });

  it("frees the connection of an answer that nobody reads before it tries again", async () => {
    let freed = 0;
    const body = new ReadableStream({
      cancel() {
        freed += 1;
        throw new Error("gone already");
      },
    });
    const { fetchOnce } = broken([new Response(body, { status: 503 }), new Response("fine")]);
    expect((await fetchWithRetry(quick, fetchOnce)("http://x.test/")).status).toBe(200);
    expect(freed).toBe(1);
  });

  it("is broken off by the signal of its request, of its call and of its options", async () => {
    const { asked, fetchOnce } = broken([new Response("", { status: 503 })]);
    const slow = { firstMs: 60_000, random: () => 1 };
    for (const [where, call] of [
      [
        "request",
        (signal: AbortSignal, go: () => void) =>
          fetchWithRetry({ ...slow, onRetry: go }, fetchOnce)(new Request("http://x.test/", { signal })),
      ],
      [
        "call",
        (signal: AbortSignal, go: () => void) =>
          fetchWithRetry({ ...slow, onRetry: go }, fetchOnce)("http://x.test/", { signal }),
      ],
      [
        "options",
        (signal: AbortSignal, go: () => void) =>
          fetchWithRetry({ ...slow, onRetry: go, signal }, fetchOnce)("http://x.test/", {
            signal: new AbortController().signal,
          }),
      ],
    ] as const) {
      const gaveUp = new AbortController();
      const answer = call(gaveUp.signal, () => gaveUp.abort(new Error(`by its ${where}`)));
      await expect(answer).rejects.toThrow(`by its ${where}`);
    }
    expect(asked.every(({ signal }) => signal != null)).toBe(true);
  });

  it("measures a date by the clock of the server that wrote it", async () => {
    const headers = {
      date: "Thu, 01 Jan 2026 00:00:00 GMT",
      "retry-after": "Thu, 01 Jan 2026 00:00:02 GMT",
    };
    const { fetchOnce } = broken([new Response("", { status: 429, headers })]);
    const waits: number[] = [];
    await fetchWithRetry(
      { ...quick, budgetMs: 1000, onRetry: ({ waitMs }) => waits.push(waitMs) },
      fetchOnce,
    )("http://x.test/");
    // Two seconds are beyond the budget: nothing was waited for, and the answer given back.
    expect(waits).toEqual([]);
  });
});

it("waits leave nothing behind at a signal that outlives them", async () => {
  const { signal } = new AbortController();
  let left = 3;
  const call = () => (left-- > 0 ? Promise.reject(new Error("down")) : "well");
  expect(await retry(call, { firstMs: 1, signal })).toBe("well");
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

it("waits between tries, and says before which try", async () => {
  const told: unknown[] = [];
  let left = 2;
  const begin = performance.now();
  await retry(() => (left-- > 0 ? Promise.reject(new Error("down")) : "well"), {
    ...{ firstMs: 20, random: () => 0.999 },
    onRetry: ({ attempt }) => told.push(attempt),
  });
  // Timers count in whole milliseconds, and may come one early.
  expect(performance.now() - begin).toBeGreaterThanOrEqual(55);
  expect(told).toEqual([2, 3]);
});

it("a try that fails after its caller gave up is the last, and its error is what the caller gets", async () => {
  const gaveUp = new AbortController();
  const told: unknown[] = [];
  const call = () => {
    gaveUp.abort(new Error("enough"));
    return Promise.reject(new Error("half written"));
  };
  const tried = retry(call, { firstMs: 1, signal: gaveUp.signal, onRetry: (next) => told.push(next) });
  await expect(tried).rejects.toThrow("half written");
  expect(told).toEqual([]);
});

it("a wait ends with an abort that comes in the middle of it", async () => {
  const gaveUp = new AbortController();
  const onRetry = () => setImmediate(() => gaveUp.abort(new Error("enough")));
  const tried = retry(() => Promise.reject(new Error("down")), {
    ...{ firstMs: 3_600_000, longestMs: 3_600_000, random: () => 0.999, signal: gaveUp.signal, onRetry },
  });
  await expect(tried).rejects.toThrow("enough");
});
