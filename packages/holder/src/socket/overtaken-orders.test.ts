import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { type Client, until } from "../holding.test-support.ts";
import { isSame, readProcess } from "../processes/read-processes.ts";
import type { HolderFile } from "../protocol/spec.ts";
import { freshWorld } from "../world-of-each.test-support.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const world = freshWorld();

const sh = (script: string): string[] => ["sh", "-c", script];

/** Silent until it is told to write, and long enough for its last words to be old. */
async function startSilent(
  silentMs: number,
): Promise<{ held: HolderFile; client: Client; write: () => Promise<void> }> {
  const script =
    "echo ready; while [ ! -e go ]; do sleep 0.05; done; echo at work; touch written; while :; do sleep 0.05; done";
  const held = await world.start(world.spec(sh(script)));
  const client = await world.connect(held);
  client.say({ say: "watch", epoch: 1, after: 0 });
  const { report } = await client.hear("report", (each) => each.report.output.lastAt !== null);
  const quietAt = (report.output.lastAt ?? 0) + silentMs;
  await until(() => Date.now() > quietAt, "its last words are old");
  const write = async (): Promise<void> => {
    writeFileSync(join(world.home, "go"), "");
    await until(() => existsSync(join(world.home, "written")), "it has written");
  };
  return { held, client, write };
}

const order = (key: string, conditions: { notAfter?: number; silentAt?: number }) =>
  ({ say: "order", key, incarnation: 1, epoch: 1, order: { kind: "stop", graceMs: 100, ...conditions } }) as const;

const answerTo = async (client: Client, wanted: string) =>
  (await client.hear("carried-out", ({ key }) => key === wanted)).outcome;

const standStill = async ({ holder }: HolderFile): Promise<void> => {
  process.kill(holder.pid, "SIGSTOP");
  await until(() => readProcess(holder.pid)?.state === "T", "its holder stands still");
};
const goOn = ({ holder }: HolderFile): void => void process.kill(holder.pid, "SIGCONT");

describe("an order to stop that reaches a holder which stood still", () => {
  it("is refused when the agent has written meanwhile, though nobody has read it yet, and that is told first", async () => {
    const { held, client, write } = await startSilent(2500);
    await standStill(held);
    const now = Date.now();
    await write();
    client.say(order("k1", { notAfter: now + 60_000, silentAt: now }));
    goOn(held);
    expect(await answerTo(client, "k1")).toEqual({ kind: "refused", because: "moved-since" });
    const at = client.heard.findIndex(({ say }) => say === "carried-out");
    const told = client.heard.slice(0, at).flatMap((each) => (each.say === "report" ? each.report.sights : []));
    expect(told.filter(({ kind }) => kind === "output").length).toBeGreaterThan(1);
    expect(held.agent !== null && isSame(held.agent)).toBe(true);
  });

  it("is refused when its time is over", async () => {
    const { held, client } = await startSilent(0);
    await standStill(held);
    const notAfter = Date.now() + 300;
    client.say(order("k1", { notAfter }));
    await until(() => Date.now() > notAfter, "its time is over");
    goOn(held);
    expect(await answerTo(client, "k1")).toEqual({ kind: "refused", because: "too-late" });
    expect(held.agent !== null && isSame(held.agent)).toBe(true);
  });

  it("is carried out when it is a person's, however late, and when the agent is as silent as before", async () => {
    const { held, client } = await startSilent(2500);
    await standStill(held);
    const now = Date.now();
    client.say(order("k1", { notAfter: now + 60_000, silentAt: now }));
    goOn(held);
    expect(await answerTo(client, "k1")).toMatchObject({ kind: "stopped" });
    const other = await world.start(
      world.spec(sh("echo ready; while :; do echo at work; sleep 0.05; done"), { agentId: "a2" }),
    );
    const person = await world.connect(other);
    await standStill(other);
    person.say({ ...order("k2", {}), epoch: null });
    goOn(other);
    expect(await answerTo(person, "k2")).toMatchObject({ kind: "stopped" });
  });
});
