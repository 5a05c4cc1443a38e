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
});
