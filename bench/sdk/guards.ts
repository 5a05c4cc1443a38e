import { createBreaker, createRateLimit, retry } from "@rouse/sdk";
import { ConsecutiveBreaker, circuitBreaker, handleAll } from "cockatiel";
import CircuitBreaker from "opossum";
import pRetry from "p-retry";
import { RateLimiterMemory, RateLimiterQueue } from "rate-limiter-flexible";
import type { Line } from "../report.ts";
import type { BenchOptions } from "../throughput.ts";
import { besideOthers, type Side, timeInTurn } from "./time-calls.ts";

const succeed = async (): Promise<number> => 1;
const broken = new Error("down");
const fail = (): Promise<number> => Promise.reject(broken);
/** Fails every second time, so that nobody's breaker opens. */
const alternate = () => {
  let calls = 0;
  return async (): Promise<number> => {
    if (++calls % 2 === 1) throw broken;
    return 1;
  };
};
const caught = (call: () => Promise<unknown>) => (): Promise<unknown> => call().catch(() => null);
const opossumRules = { timeout: false, errorThresholdPercentage: 60, resetTimeout: 3_600_000 } as const;
const openCockatiel = () => circuitBreaker(handleAll, { halfOpenAfter: 3_600_000, breaker: new ConsecutiveBreaker(3) });

/** What a call costs behind a breaker, in a retry and in a rate limit, beside libraries that do the same. */
export async function benchGuards({ seconds, say }: BenchOptions): Promise<Line[]> {
  const milliseconds = seconds * 20;
  const faster = { cockatiel: { of: "ratio", atMost: 1 }, opossum: { of: "ratio", atMost: 1 } } as const;
  const lines: Line[] = [];
  for (const [what, sides, aims] of [
    ["breaker, call that succeeds", breakers(succeed), faster],
    ["breaker, every second call fails", await failing(), {}],
    ["breaker, open", await open(), {}],
    ["retry, call that succeeds", retries(succeed, 5), {}],
    ["retry, call that fails once and for all", retries(fail, 1), {}],
    ["rate limit, place at once", limits(), {}],
  ] as const) {
    say(what);
    lines.push(...besideOthers(what, await timeInTurn(sides, milliseconds), aims));
  }
  return lines;
}

function breakers(call: () => Promise<number>): Side[] {
  const ours = createBreaker<number>({ name: "x" });
  const cockatiel = openCockatiel();
  const opossum = new CircuitBreaker(call, opossumRules);
  return [
    { name: "ours", call: () => ours.run(call) },
    { name: "a bare await", call },
    { name: "cockatiel", call: () => cockatiel.execute(call) },
    { name: "opossum", call: () => opossum.fire() },
  ];
}

async function failing(): Promise<Side[]> {
  const ours = createBreaker<number>({ name: "x" });
  const cockatiel = openCockatiel();
  const opossum = new CircuitBreaker(alternate(), opossumRules);
  const [a, b, c] = [alternate(), alternate(), alternate()];
  return [
    { name: "ours", call: caught(() => ours.run(a)) },
    { name: "a bare await", call: caught(b) },
    { name: "cockatiel", call: caught(() => cockatiel.execute(c)) },
    { name: "opossum", call: caught(() => opossum.fire()) },
  ];
}

async function open(): Promise<Side[]> {
  const ours = createBreaker<number>({ name: "x", recoveryTimeout: 3_600_000 });
  const cockatiel = openCockatiel();
  const opossum = new CircuitBreaker(fail, opossumRules);
  const sides = [
    { name: "ours", call: caught(() => ours.run(fail)) },
    { name: "cockatiel", call: caught(() => cockatiel.execute(fail)) },
    { name: "opossum", call: caught(() => opossum.fire()) },
  ];
  for (const { call } of sides) for (let i = 0; i < 10; i++) await call();
  if (ours.state() !== "OPEN" || !opossum.opened) throw new Error("these breakers are not open");
  return sides;
}

const retries = (call: () => Promise<number>, attempts: number): Side[] => [
  { name: "ours", call: caught(() => retry(call, { attempts })) },
  { name: "a bare await", call: caught(call) },
  { name: "p-retry", call: caught(() => pRetry(call, { retries: attempts - 1 })) },
];

function limits(): Side[] {
  const ours = createRateLimit({ allow: { requests: { most: 1e12, perMs: 1000 } } });
  const memory = new RateLimiterMemory({ points: 1e12, duration: 1 });
  const queue = new RateLimiterQueue(new RateLimiterMemory({ points: 1e12, duration: 1 }));
  return [
    { name: "ours", call: () => ours.take({ requests: 1 }) },
    { name: "rate-limiter-flexible", call: () => memory.consume("x") },
    { name: "its queue", call: () => queue.removeTokens(1, "x") },
  ];
}
