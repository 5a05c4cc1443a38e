import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { until } from "../holding.test-support.ts";
import { readProcess } from "../processes/read-processes.ts";
import { freshWorld } from "../world-of-each.test-support.ts";
import { groupToWake } from "./tend-terminal.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const world = freshWorld();

/** Stops itself at Ctrl-Z as programs do that draw on the whole screen, and says when it goes on. */
const program = `
  process.stdin.setRawMode(true).on("data", (keys) => {
    if (!keys.includes(0x1a) && !keys.includes("[122;5u")) return console.log("heard " + keys);
    process.once("SIGCONT", () => console.log("goes on"));
    console.log("suspended");
    process.kill(process.pid, keys.includes(0x1a) ? "SIGTSTP" : "SIGSTOP");
  });
  console.log("ready");
`;

describe("Ctrl-Z typed by a person", () => {
  it.each([
    ["one that the kernel does not stop", "\x1a"],
    ["one that stops itself for good", "\x1b[122;5u"],
  ])("wakes %s", async (_, key) => {
    const file = join(world.home, "program.cjs");
    writeFileSync(file, program);
    const held = await world.start(world.spec([process.execPath, file]));
    const client = await world.connect(held);
    client.say({ say: "attach", size: { cols: 80, rows: 24 } });
    await client.shows("ready");
    client.type(key);
    await client.shows("suspended");
    await client.shows("goes on");
    client.type("x");
    await client.shows("heard x");
  });

  it("leaves the jobs of a shell to the shell", async () => {
    const spec = world.spec(["bash", "--norc", "-i"]);
    const held = await world.start({ ...spec, env: { ...spec.env, PS1: "> " } });
    const pid = held.agent?.pid ?? 0;
    await until(() => groupToWake(pid) === pid, "the shell is in the foreground");
    const client = await world.connect(held);
    client.say({ say: "attach", size: { cols: 80, rows: 24 } });
    client.type("sleep 1000\r");
    await until(() => ![0, pid].includes(readProcess(pid)?.foreground ?? 0), "its job is in the foreground");
    expect(groupToWake(pid)).toBeNull();
    client.type("\x1a");
    await client.shows("Stopped");
    client.type("jobs\r");
    await client.shows("Stopped                 sleep");
  });
});
