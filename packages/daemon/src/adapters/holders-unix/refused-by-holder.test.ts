import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import type { ExitStatus, HolderInfo, HolderLoss } from "@rouse/contract";
import { createFrameReader, type HolderFile, identityOf, jsonFrame, readStore } from "@rouse/holder";
import { afterEach, describe, expect, it, vi } from "vitest";
import { kill, storeOfTests, until, type World } from "../../../../holder/src/holding.test-support.ts";
import { worldOfEach } from "../../../../holder/src/world-of-each.test-support.ts";
import { adoptAgent } from "../../holders/adopt-agent.ts";
import type { Holders, WrittenExit } from "../../ports/holders.ts";
import { openHolders } from "./open-holders.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let world: World;
const monitors: Holders[] = [];
worldOfEach((fresh) => {
  world = fresh;
});
afterEach(async () => {
  for (const monitor of monitors.splice(0)) await monitor.close();
  await world.remove();
});

interface Loss {
  readonly process: "gone" | "alive";
  readonly because: HolderLoss | undefined;
  readonly exit: ExitStatus | null;
}

/** A monitor that notes what it is told, and knows whom it was told of. */
async function monitor(store: string, epoch = 1) {
  const met: HolderInfo[] = [];
  const losses: Loss[] = [];
  let reports = 0;
  const holders = openHolders(
    { folder: world.home, token: "t", url: () => null },
    { info() {}, warn() {}, error() {} },
  );
  monitors.push(holders);
  const news = {
    standing: () => (met.length === 0 ? null : { incarnation: 1, over: false, left: false }),
    async held(hold: HolderInfo) {
      met.push(hold);
      return { lastReport: 0, settings: { patterns: [], completionMarker: "DONE" } };
    },
    async reported() {
      reports += 1;
    },
    nobodyLeft: async () => {},
    registered: () => null,
    endsLeftovers: async () => {},
    async lost(_: string, __: number, process: Loss["process"], written: WrittenExit | null, because?: HolderLoss) {
      losses.push({ process, because, exit: written?.exit ?? null });
    },
  };
  await holders.begin(news, epoch, store);
  return { holders, met, losses, reports: () => reports };
}

const stop = { key: "k", agentId: "a1", incarnation: 1, grace: 1000, unlessAttached: false };
const nudge = { key: "n", agentId: "a1", incarnation: 1, text: "go on", notAfter: 2_000_000_000_000 };
const alive = (because: HolderLoss) => ({ process: "alive", because, exit: null });

function killAgent({ agent }: HolderFile): void {
  if (agent !== null) kill(agent);
}

describe("a monitor whose database is another than the agent's", () => {
  it("tells of the agent and that its holder refuses us, once, and orders nothing", async () => {
    const held = await world.start(world.spec(["sleep", "1000"], { store: "the first" }));
    const { holders, met, losses, reports } = await monitor("the second");
    await until(() => losses.length > 0, "the loss is told");
    expect(met).toMatchObject([{ agentId: "a1", pid: held.agent?.pid }]);
    expect(await holders.stop(stop)).toEqual({ kind: "refused", because: "other-store" });
    expect(await holders.nudge(nudge)).toEqual({ kind: "not-sent", because: "other-store" });
    expect(losses).toEqual([alive("other-store")]);
    expect(reports()).toBe(0);

    const ours = readStore(world.home);
    expect(ours).toEqual({ store: "the second", epoch: 1 });
    if (ours !== null) expect(await adoptAgent(world.home, held, ours)).toBe("adopted");
    await until(() => reports() > 0, "it is heard");
    expect(met).toHaveLength(2);
    expect(losses).toHaveLength(1);
    if (ours !== null) expect(await adoptAgent(world.home, held, ours)).toBe("ours-already");
    expect(await holders.stop(stop)).toMatchObject({ kind: "stopped" });
  });

  it("learns of the agent's end from its process, with the status the holder wrote down", async () => {
    const held = await world.start(world.spec(["sleep", "1000"], { store: "the first" }));
    const { losses } = await monitor("the second");
    await until(() => losses.length === 1, "the loss is told");
    killAgent(held);
    await until(() => losses.length === 2, "the end is told", 20_000);
    expect(losses[1]).toMatchObject({ process: "gone", because: "other-store", exit: { signal: "SIGKILL" } });
  });
});

describe("a holder", () => {
  it("whose secret somebody changed is of no use, and its agent's end is known all the same", async () => {
    const held = await world.start(world.spec(["sleep", "1000"]));
    writeFileSync(world.files().secret, "0".repeat(64));
    const { met, losses } = await monitor(storeOfTests);
    await until(() => losses.length === 1, "the loss is told");
    expect([met.length, losses]).toEqual([1, [alive("wrong-secret")]]);
    rmSync(world.files().secret);
    killAgent(held);
    await until(() => losses.length === 2, "the end is told", 20_000);
    expect(losses[1]).toMatchObject({ process: "gone", because: "wrong-secret" });
  });

  it("that is replaced by a higher epoch while it is watched is told of with the reason", async () => {
    const held = await world.start(world.spec(["sleep", "1000"]));
    const { losses, reports } = await monitor(storeOfTests, 5);
    await until(() => reports() > 0, "it is heard");
    const intruder = await world.connect(held);
    intruder.say({ say: "watch", epoch: 500, after: 0 });
    await until(() => losses.length > 0, "the loss is told");
    expect(losses).toEqual([alive("old-epoch")]);
  });

  it("that never says a word is told of as silent, and so is the end of its agent", async () => {
    const held = await world.start(world.spec(["sleep", "1000"]));
    process.kill(held.holder.pid, "SIGSTOP");
    const { met, losses } = await monitor(storeOfTests);
    await until(() => losses.length === 1, "the silence is told");
    expect([met.length, losses]).toEqual([1, [alive("silent")]]);
    killAgent(held);
    await until(() => losses.length === 2, "the end is told", 20_000);
    expect(losses[1]).toMatchObject({ process: "gone", because: "silent" });
    process.kill(held.holder.pid, "SIGCONT");
  });
});

describe("with something else in a holder's place", () => {
  let server: Server | null = null;
  let agent: ChildProcess | null = null;
  const sockets = new Set<Socket>();
  afterEach(() => {
    agent?.kill("SIGKILL");
    for (const socket of sockets) socket.destroy();
    server?.close();
  });

  /**
   * `refused`: a holder of another store that never leaves, and takes its time to write down how its agent ended. The others answer as the version
   * before did, which knew of no secrets.
   */
  async function standIn(answer: "watched" | "replaced" | "refused"): Promise<string[]> {
    const said: string[] = [];
    const { folder, holder, spec, exit } = world.files();
    const ended = { incarnation: 1, at: 1, exit: { code: 7, signal: null, cause: "by-itself" } };
    mkdirSync(folder, { recursive: true });
    const path = `${folder}/socket`;
    const child = spawn("sleep", ["1000"]);
    agent = child;
    const us = identityOf(process.pid);
    const it = identityOf(child.pid ?? 0);
    const { agentId, agentType, taskId, policy, incarnation, family, structured, foreground } = world.spec(["sleep"]);
    const about = { agentId, agentType, taskId, policy, incarnation, family, structured, foreground };
    const hold = { ...about, pid: child.pid, startedAt: 1, input: "terminal" };
    server = createServer((socket) => {
      sockets.add(socket);
      const reply = (message: object) => socket.write(jsonFrame(message));
      const read = createFrameReader((frame) => {
        const { say = "", id = 0 } = frame.kind === "json" ? (frame.value as { say?: string; id?: number }) : {};
        said.push(say);
        if (say === "hello" && answer !== "refused") reply({ say: "misunderstood", problem: "no message of ours" });
        if (say === "hello" && answer === "refused") {
          reply({ say: "refused", because: "other-store" });
          if (child.signalCode !== null) setTimeout(() => writeFileSync(exit, JSON.stringify(ended)), 200);
        }
        if (say === "probe") reply({ say: "here", id, hold, exit: null, outputEnd: 0, lastReport: 0 });
        if (say === "watch") reply(answer === "watched" ? { say: "watched", hold } : { say: "replaced" });
      });
      socket.on("data", read).on("error", () => {});
    });
    await new Promise<void>((resolve) => server?.listen(path, resolve));
    writeFileSync(spec, JSON.stringify(world.spec(["sleep", "1000"])));
    const file = { agentId, incarnation, holder: us, agent: it, socket: path, tier: "marked", cgroup: null, mark: "m" };
    const store = answer === "refused" ? { store: "another" } : {};
    writeFileSync(holder, JSON.stringify({ ...file, ...store, startedAt: 1 }));
    return said;
  }

  it("one of the version before is spoken to as before", async () => {
    const said = await standIn("watched");
    const { met, losses } = await monitor(storeOfTests);
    await until(() => said.includes("settings"), "it is watched");
    expect(said).toEqual(["probe", "watch", "settings"]);
    expect([met.length, losses.length]).toEqual([1, 0]);
  });

  it("one of the version before that obeys a higher epoch is told of once, and so is the end of its agent", async () => {
    const said = await standIn("replaced");
    const { met, losses } = await monitor(storeOfTests);
    await until(() => losses.length === 1, "the loss is told");
    agent?.kill("SIGKILL");
    await until(() => losses.length === 2, "the end is told", 20_000);
    expect(losses).toEqual([alive("old-epoch"), { process: "gone", because: "old-epoch", exit: null }]);
    expect(met).toHaveLength(1);
    expect(said.filter((say) => say === "watch")).toHaveLength(1);
  });

  it("one that goes on refusing is told of once, and the end of its agent with what it still writes down", async () => {
    const said = await standIn("refused");
    const { losses } = await monitor(storeOfTests);
    await until(() => said.length === 3, "it is asked for the third time");
    expect(losses).toEqual([alive("other-store")]);
    agent?.kill("SIGKILL");
    await until(() => losses.length === 2, "the end is told", 20_000);
    expect(losses[1]).toMatchObject({ process: "gone", because: "other-store", exit: { code: 7 } });
  });
});
