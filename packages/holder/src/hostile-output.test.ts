import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { until } from "./holding.test-support.ts";
import { isThere } from "./processes/real-processes.test-support.ts";
import type { HolderFile } from "./protocol/spec.ts";
import { freshWorld } from "./world-of-each.test-support.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const world = freshWorld();

const most = "2147483647";
/** Every one of them took the terminal hours, or all memory there is. */
const bombs = `A\x1b[${most}b${[..."STLM@PXIZ"].map((final) => `\x1b[${most}${final}`).join("")}`;
/** A few bytes for a whole screen of work, over and over. */
const amplified = "A\x1b[1920b\x1b[24S\x1bc\x1b[24L\x1b]8;;x\x07";

function start(bytes: string, script: string): Promise<HolderFile> {
  writeFileSync(join(world.home, "evil"), bytes);
  return world.start(world.spec(["bash", "-c", script]));
}

const megabytes = (held: HolderFile): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${held.holder.pid}/status`, "utf8"))?.[1]) / 1024;

async function stop(held: HolderFile) {
  const client = await world.connect(held);
  client.say({ say: "watch", epoch: 1, after: 0 });
  client.say({ say: "order", key: "stop", incarnation: 1, epoch: 1, order: { kind: "stop", graceMs: 5000 } });
  return (await client.hear("carried-out")).outcome;
}

describe("an agent that writes what a terminal takes hours to do", () => {
  it("ends as it ended: its exit code is known", async () => {
    const held = await start(bombs, "cat evil; exit 7");
    expect((await world.ended(held)).exit).toEqual({ code: 7, signal: null, cause: "by-itself" });
    expect(world.output().toString()).toBe(bombs);
  });

  it("is stopped when that is ordered", async () => {
    const held = await start(bombs, "cat evil; echo ready; while :; do sleep 0.1; done");
    await until(() => world.output().includes("ready"), "it has written it");
    expect(await stop(held)).toMatchObject({ kind: "stopped" });
    expect(isThere(held.agent?.pid ?? 0)).toBe(false);
  });
});

describe("an agent that pours out work for its terminal without end", () => {
  it("is reported on, costs bounded memory and is stopped when that is ordered", async () => {
    const held = await start(amplified.repeat(30_000), "while :; do cat evil; done");
    const client = await world.connect(held);
    client.say({ say: "watch", epoch: 1, after: 0 });
    await client.hear("report", ({ report }) => report.output.bytes > 20_000_000);
    expect(megabytes(held)).toBeLessThan(500);
    expect(await stop(held)).toMatchObject({ kind: "stopped" });
  });

  it("is ended by a signal to its holder", async () => {
    const held = await start(amplified.repeat(30_000), "trap 'exit 9' TERM; while :; do cat evil; done");
    await until(() => world.output().length > 1_000_000, "it pours");
    process.kill(held.holder.pid, "SIGTERM");
    expect((await world.ended(held)).exit).toEqual({ code: 9, signal: null, cause: "by-itself" });
  });
});
