import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { BundledHolder } from "./bundle-holder.test-support.ts";
import { nextIncarnation } from "./claim-name.ts";
import { kill, openWorld, readHolderFile, run, storeOfTests, until, type World } from "./holding.test-support.ts";
import { isSame, readProcess } from "./processes/read-processes.ts";
import { worldOfEach } from "./world-of-each.test-support.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let bundled: BundledHolder;
let world: World;
worldOfEach((fresh, made) => {
  world = fresh;
  bundled = made;
});
afterEach(() => world.remove());

const sh = (script: string): string[] => ["sh", "-c", script];

describe("an agent with a holder of its own", () => {
  it("keeps every byte a shell loop wrote, and how it ended", async () => {
    const held = await world.start(world.spec(sh("for i in 1 2 3; do echo line $i; done; exit 7")));
    const { exit, incarnation } = await world.ended(held);
    expect(exit).toEqual({ code: 7, signal: null, cause: "by-itself" });
    expect(incarnation).toBe(1);
    expect(world.output().toString()).toBe("line 1\r\nline 2\r\nline 3\r\n");
    expect(readHolderFile(world.files())).toEqual({ ...held, store: storeOfTests });
  });

  it("keeps the same bytes that the command writes into a pipe", async () => {
    const script = "seq 1 20000; printf 'no end of line'; echo problem >&2";
    const { out } = await run("sh", ["-c", `exec 2>&1; ${script}`]);
    const held = await world.start(world.spec(sh(script), { io: "pipes" }));
    await world.ended(held);
    expect(world.output().equals(out)).toBe(true);
  });

  it("that somebody kills was killed, and one that ends is over by itself", async () => {
    const held = await world.start(world.spec(sh("echo ready; sleep 100")));
    await until(() => world.output().includes("ready"), "it runs");
    process.kill(held.agent?.pid ?? 0, "SIGTERM");
    expect((await world.ended(held)).exit).toEqual({ code: null, signal: "SIGTERM", cause: "killed" });
  });

  it("runs in its folder with its own environment and a mark, known to its holder", async () => {
    const spec = world.spec(sh('echo "$PWD|$TOKEN|$ROUSE_MARK|$VITEST"'), { io: "pipes" });
    const held = await world.start({ ...spec, env: { ...spec.env, TOKEN: "secret" } });
    await world.ended(held);
    expect(world.output().toString()).toBe(`${world.home}|secret|${held.mark}|\n`);
    expect(held.mark).toMatch(/^[0-9a-f]{32}$/);
  });

  it("shares neither session nor group nor environment with whoever started it", async () => {
    const held = await world.start(world.spec(sh("sleep 100")));
    const holder = readProcess(held.holder.pid);
    expect(holder?.session).toBe(held.holder.pid);
    expect(holder?.pgid).toBe(held.holder.pid);
    expect(readProcess(held.agent?.pid ?? 0)?.session).toBe(held.agent?.pid);
    const told =
      readFileSync(`/proc/${held.holder.pid}/environ`, "utf8") +
      readFileSync(`/proc/${held.holder.pid}/cmdline`, "utf8");
    expect(told).not.toMatch(/VITEST|ROUSE_MARK|sleep/);
  });

  it("is ended by a signal to its holder, which stays to see it", async () => {
    const held = await world.start(
      world.spec(sh("trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.05; done")),
    );
    await until(() => world.output().includes("ready"), "it runs");
    process.kill(held.holder.pid, "SIGTERM");
    expect((await world.ended(held)).exit).toEqual({ code: 9, signal: null, cause: "by-itself" });
    expect(world.output().toString()).toContain("bye");
  });

  it("finishes 50 MB of output, of which the end is kept", async () => {
    const script = "head -c 50000000 /dev/zero | tr '\\0' x; printf the-end";
    const held = await world.start(world.spec(sh(script), { keepBytes: 100_000 }));
    expect((await world.ended(held)).exit.code).toBe(0);
    const output = world.output().toString();
    expect(output.length).toBe(100_000);
    expect(output.endsWith("xxxthe-end")).toBe(true);
  });

  it("keeps its files for its owner only, and its exit file is blank until there is one", async () => {
    const held = await world.start(world.spec(sh("read x")));
    const { folder, exit, spec } = world.files();
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(spec).mode & 0o777).toBe(0o600);
    expect(readFileSync(exit, "utf8").trim()).toBe("");
    expect(statSync(exit).mode & 0o077).toBe(0);
    expect(readdirSync(folder).filter((name) => name.includes("new") || name.includes("log"))).toEqual([]);
    expect(isSame(held.holder)).toBe(true);
  });

  it("loads nothing before it needs it", () => {
    expect(bundled.loadedAtOnce).toEqual([]);
  });
});

describe("a name", () => {
  it("is refused while its agent runs, and that agent is left as it is", async () => {
    const held = await world.start(world.spec(sh("sleep 100")));
    const again = world.start({ ...world.spec(sh("echo other")), incarnation: 2 });
    await expect(again).rejects.toMatchObject({
      code: "name-taken",
      message: expect.stringContaining(`held by process ${held.holder.pid} since`),
    });
    expect(readHolderFile(world.files())).toEqual(held);
    expect(JSON.parse(readFileSync(world.files().spec, "utf8")).command).toEqual(sh("sleep 100"));
  });

  it("can be used again as soon as its agent is over, with the next number", async () => {
    const first = await world.start(world.spec(sh("echo one")));
    await until(() => world.output().includes("one"), "it ran");
    expect(nextIncarnation(world.home, "a1")).toBe(2);
    const second = await world.start(world.spec(sh("echo two"), { incarnation: 2 }));
    expect(isSame(first.holder)).toBe(false);
    expect((await world.ended(second)).incarnation).toBe(2);
    expect(world.output().toString()).toBe("one\r\ntwo\r\n");
  });

  it("of a holder that was killed is free", async () => {
    const first = await world.start(world.spec(sh("sleep 100")));
    kill(first.holder);
    await until(() => !isSame(first.holder), "it is gone");
    expect(existsSync(world.files().holder)).toBe(true);
    const second = await world.start(world.spec(sh("exit 5"), { incarnation: 2 }));
    expect((await world.ended(second)).exit.code).toBe(5);
  });
});

describe("an agent that cannot be started", () => {
  it.each([
    ["a command that is not there", ["no-such-command"], {}, "command-not-found"],
    ["a file that cannot be run", ["./text"], {}, "not-executable"],
    ["a folder that is gone", ["true"], { cwd: "/no/such/folder" }, "folder-gone"],
  ] as const)("because of %s says so and leaves nothing behind", async (_, command, changes, code) => {
    writeFileSync(join(world.home, "text"), "");
    await expect(world.start(world.spec(command, changes))).rejects.toMatchObject({ code });
    expect(existsSync(world.files().folder)).toBe(false);
  });

  it("because its holder does not come up says so, and the name is free", async () => {
    const broken = openWorld(new URL("file:///no/such/holder.js"));
    try {
      await expect(broken.start(broken.spec(["true"]))).rejects.toMatchObject({ code: "internal" });
      expect(readHolderFile(broken.files())).toBeNull();
    } finally {
      await broken.remove();
    }
  });
});

describe("a socket whose path would be too long", () => {
  it("lies in a folder for temporary files that is ours alone", async () => {
    const agentId = "a".repeat(100);
    const held = await world.start(world.spec(sh("sleep 100"), { agentId }));
    expect(Buffer.byteLength(held.socket)).toBeLessThanOrEqual(100);
    const client = await world.connect(held);
    client.say({ say: "probe", id: 1 });
    expect((await client.hear("here")).hold.agentId).toBe(agentId);
  });
});
