import { join } from "node:path";
import { connectRouse, createSharedRateLimit } from "@rouse/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { mintAgentToken } from "../packages/daemon/src/home/agent-token.ts";
import { cleanUp } from "./clean-up.ts";
import { repository, startProgram } from "./run-rouse.ts";
import { sendRequest } from "./send-request.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";

afterEach(cleanUp);

const most = 8;
const perMs = 500;
const monotonic = (): number => Number(process.hrtime.bigint()) / 1e6;

async function takesInAnotherProcess(
  { url, token, home }: Daemon,
  times: number,
): Promise<{ n: number; at: number }[]> {
  const words = [join(repository, "e2e", "taking-program.mjs"), "github", String(times), String(most), String(perMs)];
  const environment = { ROUSE_URL: url, ROUSE_TOKEN: token };
  const { code, stdout, stderr } = await startProgram(process.execPath, words, { home, environment }).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

describe("a rate limit that is shared through Rouse", () => {
  it("lets four processes together through what one may, each in the order it asked", async () => {
    const daemon = await startDaemon();
    const begin = monotonic();
    const each = await Promise.all([1, 2, 3, 4].map(() => takesInAnotherProcess(daemon, 10)));
    for (const one of each) expect(one.map(({ n }) => n)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const all = each.flat().sort((a, b) => a.at - b.at);
    expect(all).toHaveLength(40);
    for (const [n, { at }] of all.entries()) expect((n + 1) * perMs).toBeLessThanOrEqual(most * (perMs + at - begin));
  });

  it("is as it was after a crash of Rouse", async () => {
    let daemon = await startDaemon();
    const slow = { cost: { requests: 1 }, allow: { requests: { most: 1, perMs: 3_600_000 } } };
    expect(await daemon.rouse.takeFromRateLimit("slow", slow)).toEqual({ waitMs: 0 });
    await daemon.end("SIGKILL");
    daemon = await startDaemon({ home: daemon.home });
    const { waitMs } = await daemon.rouse.takeFromRateLimit("slow", slow);
    expect(waitMs).toBeGreaterThan(3_000_000);
    const other = { ...slow, allow: { requests: { most: 2, perMs: 3_600_000 } } };
    await expect(daemon.rouse.takeFromRateLimit("slow", other)).rejects.toMatchObject({
      code: "rate-limit-refused",
      retryable: false,
      message: expect.stringMatching(/^others take from slow by another allowance; agree on one, or use no slow for /),
    });
  });

  it("holds for each process by itself while Rouse is away, and says so once", async () => {
    const daemon = await startDaemon();
    const warnings: string[] = [];
    const limit = createSharedRateLimit({
      url: daemon.url,
      token: daemon.token,
      name: "github",
      allow: { requests: { most, perMs } },
      onWarning: (text) => warnings.push(text),
    });
    await limit.take({ requests: 1 });
    await daemon.end("SIGTERM");
    const begin = performance.now();
    for (let i = 0; i < 2 * most; i++) await limit.take({ requests: 1 });
    // One was used before, with Rouse: it counts on.
    expect((2 * most - most) * perMs).toBeLessThanOrEqual(most * (performance.now() - begin) + perMs);
    expect(warnings).toEqual([
      expect.stringMatching(
        /^rate limit github holds for this process only, until Rouse takes part: no Rouse is running/,
      ),
    ]);
  });

  it("refuses what makes no sense, by name, cost and allowance", async () => {
    const daemon = await startDaemon();
    const allow = { requests: { most: 5, perMs: 1000 } };
    const refused = async (name: string, body: object): Promise<string> => {
      const { status, json } = await sendRequest(daemon, {
        path: `/api/v1/rate-limits/${name}/take`,
        body: JSON.stringify(body),
      });
      expect(status).toBe(400);
      return (json as { detail: string }).detail;
    };
    expect(await refused("%2e%2e%20x", { cost: {}, allow })).toMatch(
      /the name of a rate limit must be 1 to 128 letters/,
    );
    expect(await refused("x", { cost: { requests: 6 }, allow })).toMatch(/6 are never let through at once, 5 are/);
    expect(await refused("x", { cost: { words: 1 }, allow })).toMatch(/knows no words/);
    expect(await refused("x", { cost: {}, allow: {} })).toMatch(/allows at least one thing/);
    expect(await refused("x", { cost: {}, allow: { requests: { most: 0, perMs: 1 } } })).toMatch(
      /allow\.requests\.most/,
    );
    const much = { most: Number.MAX_SAFE_INTEGER, perMs: 1000 };
    expect(await refused("x", { cost: {}, allow: { requests: much } })).toMatch(/count in larger units/);
  });

  it("can be begun a hundred times by one, which takes none from others, and again when nobody uses the first", async () => {
    const daemon = await startDaemon();
    const used = (perMs: number) => ({ cost: { requests: 1 }, allow: { requests: { most: 1, perMs } } });
    const { rouse } = daemon;
    await Promise.all(Array.from({ length: 60 }, (_, n) => rouse.takeFromRateLimit(`short-${n}`, used(1))));
    await Promise.all(Array.from({ length: 40 }, (_, n) => rouse.takeFromRateLimit(`long-${n}`, used(3_600_000))));
    await Promise.all(Array.from({ length: 60 }, (_, n) => rouse.takeFromRateLimit(`more-${n}`, used(3_600_000))));
    await expect(rouse.takeFromRateLimit("one-more", used(1))).rejects.toMatchObject({
      code: "rate-limit-refused",
      retryable: false,
      message: expect.stringMatching(/^there are too many rate limits \(100 begun by one, 1000 in all\)/),
    });
    expect((await rouse.takeFromRateLimit("long-0", used(3_600_000))).waitMs).toBeGreaterThan(0);
    const token = mintAgentToken(daemon.token, { agentId: "w", taskId: null, incarnation: 1 });
    const agent = connectRouse({ url: daemon.url, token });
    expect(await agent.takeFromRateLimit("one-more", used(1))).toEqual({ waitMs: 0 });
  });
});
