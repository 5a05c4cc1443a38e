import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  createTreeWatch,
  findLeftovers,
  type HolderFile,
  identityOf,
  isSame,
  type ProcessId,
  readProcess,
} from "@rouse/holder";
import { afterEach, describe, expect, it, vi } from "vitest";
import { kill, readHolderFile, until, type World } from "../../../holder/src/holding.test-support.ts";
import { isThere } from "../../../holder/src/processes/real-processes.test-support.ts";
import { makeSharedCodex, type SharedCodex } from "../../../holder/src/processes/shared-codex.test-support.ts";
import { startAgent } from "../../../holder/src/start-agent.ts";
import { worldOfEach } from "../../../holder/src/world-of-each.test-support.ts";
import { startAgain } from "./start-again.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let world: World;
let holderFile: URL;
const left: ProcessId[] = [];
worldOfEach((fresh, made) => {
  world = fresh;
  holderFile = made.holderFile;
});
afterEach(async () => {
  for (const id of left.splice(0)) if (isSame(id)) kill(id);
  const last = readHolderFile(world.files());
  for (const id of [last?.agent, last?.holder]) if (id != null && isSame(id)) kill(id);
  await world.remove();
});

/** Starts a server in a session of its own, which notes its pid, and ends. */
const leaves = (ending: string): string[] => [
  "sh",
  "-c",
  `setsid sh -c 'echo $$ > server; exec sleep 1000' & until [ -s server ]; do sleep 0.02; done; ${ending}`,
];

async function serverOf(): Promise<ProcessId> {
  await until(() => readFileSync(join(world.home, "server"), "utf8").endsWith("\n"), "its server runs");
  const id = identityOf(Number(readFileSync(join(world.home, "server"), "utf8")));
  if (id === null) throw new Error("its server is gone");
  left.push(id);
  return id;
}

async function watched(held: HolderFile) {
  const client = await world.connect(held);
  client.say({ say: "watch", epoch: 1, after: 0 });
  return client;
}

describe("an agent that ends and leaves a process running", () => {
  it("is not over: its holder stays and names the process, and tells the end as it was when that is gone", async () => {
    const client = await watched(await world.start(world.spec(leaves("exit 0"))));
    const { report } = await client.hear("report", (each) => each.report.leftovers !== undefined);
    const server = await serverOf();
    expect(report).toMatchObject({ exit: null, leftovers: [{ pid: server.pid, name: "sleep" }] });
    kill(server);
    const last = await client.hear("report", (each) => each.report.exit !== null);
    expect(last.report.exit).toEqual({ code: 0, signal: null, cause: "by-itself" });
    expect(last.report.leftovers).toBeUndefined();
  });

  it("is heard of at once where it is to run always", async () => {
    const restart = { when: "always" } as const;
    const client = await watched(await world.start(world.spec(leaves("exit 0"), { restart })));
    const { report } = await client.hear("report", (each) => each.report.exit !== null);
    const server = await serverOf();
    expect(report).toMatchObject({ exit: { code: 0 }, leftovers: [{ pid: server.pid, name: "sleep" }] });
  });

  it("within a moment is found to have left it, though nobody had looked yet and it carries no mark", async () => {
    // Nor does anybody in the middle of `exec`.
    const command = ["sh", "-c", "trap '' HUP; env -i sleep 1000 & echo $! > server"];
    const spec = world.spec(command);
    let sayEnded = () => {};
    const ended = new Promise<void>((resolve) => {
      sayEnded = resolve;
    });
    const ears = { wrote: () => {}, ended: () => sayEnded() };
    const agent = await startAgent(spec, { command, env: {} }, { cols: 80, rows: 24 }, "m-1", ears);
    await ended;
    const server = await serverOf();
    await until(() => readProcess(server.pid)?.name === "sleep", "its environment is gone");
    // As on a host without control groups.
    const above = agent.group === null ? null : join(agent.group.folder, "../../..", "cgroup.procs");
    if (above !== null) writeFileSync(above, String(server.pid));
    const found = await findLeftovers(createTreeWatch({ ...agent.root, cgroup: null }));
    expect(found.map(({ pid }) => pid)).toEqual([server.pid]);
  });

  it("is ended by an order, with all of it", async () => {
    const held = await world.start(world.spec(leaves("exit 0")));
    const client = await watched(held);
    await client.hear("report", (each) => each.report.leftovers !== undefined);
    const server = await serverOf();
    client.say({ say: "order", key: "k", incarnation: 1, epoch: null, order: { kind: "stop", graceMs: 5000 } });
    expect((await client.hear("carried-out")).outcome).toMatchObject({ kind: "stopped", processes: 1 });
    expect(isSame(server)).toBe(false);
    expect((await world.ended(held)).exit).toEqual({ code: 0, signal: null, cause: "by-itself" });
  });

  it("and failed is heard of at once, with what it left", async () => {
    const client = await watched(await world.start(world.spec(leaves("exit 3"))));
    const { report } = await client.hear("report", (each) => each.report.exit !== null);
    expect(report.exit).toEqual({ code: 3, signal: null, cause: "by-itself" });
    expect(report.leftovers).toEqual([{ pid: (await serverOf()).pid, name: "sleep" }]);
  });

  it("does not get a next life beside it", async () => {
    await world.ended(await world.start(world.spec(leaves("exit 3"))));
    const server = await serverOf();
    await startAgain({ home: world.home, token: "t".repeat(43), url: null, books: null }, "a1", 1, null, {
      holderFile,
    });
    expect(isSame(server)).toBe(false);
  });

  it("is over at once when its children end with it", async () => {
    const held = await world.start(world.spec(["sh", "-c", "sleep 1000 & exit 0"]));
    const client = await watched(held);
    await client.hear("report", (each) => each.report.exit !== null);
    expect((await world.ended(held)).exit.code).toBe(0);
  });
});

describe("an agent whose server another Codex uses", () => {
  let codex: SharedCodex;
  afterEach(() => codex.end());

  /** It ends once another uses its server. */
  async function startBeside(ending: string): Promise<HolderFile> {
    codex = makeSharedCodex(world.home, "sleep 1000");
    const nextLife = "[ ! -e joined ] || exit 0";
    const waits = "until [ -e joined ]; do sleep 0.02; done";
    const held = await world.start(world.spec(["sh", "-c", [nextLife, codex.startServer, waits, ending].join("\n")]));
    await until(() => codex.hasStarted(), "its server runs");
    await codex.startClient({ CODEX_HOME: join(world.home, "settings") });
    return held;
  }
  const joined = () => writeFileSync(join(world.home, "joined"), "");

  it("has left nothing when it ends", async () => {
    const held = await startBeside("exit 0");
    const client = await watched(held);
    joined();
    const { report } = await client.hear("report", (each) => each.report.exit !== null);
    expect(report.leftovers).toBeUndefined();
    expect((await world.ended(held)).exit.code).toBe(0);
    expect(codex.everybody().filter(isThere)).toEqual(codex.everybody());
  });

  // That it runs Codex is known from the first look at it after it has begun, which may come too late here.
  it("leaves it to the last one that uses it, which has then left it and is over when it is gone", {
    retry: 3,
  }, async () => {
    codex = makeSharedCodex(world.home, "sleep 1000");
    const untilThere = (name: string) => `until [ -e ${name} ]; do sleep 0.02; done`;
    const first = await world.start(world.spec(["sh", "-c", `${codex.startServer}\n${untilThere("joined")}`]));
    await until(() => codex.hasStarted(), "its server runs");
    const uses = `export CODEX_HOME=${world.home}/settings; { ${untilThere("over")}; } | ./codex resume; exit 0`;
    const last = await world.start(world.spec(["sh", "-c", uses], { agentId: "a2" }));
    for (const id of [last.agent, last.holder]) if (id !== null) left.push(id);
    const client = await watched(last);
    await client.hear("report", ({ report }) => (report.process?.processes ?? 0) >= 3);
    joined();
    expect((await world.ended(first)).exit.code).toBe(0);
    expect(codex.everybody().filter(isThere)).toEqual(codex.everybody());
    writeFileSync(join(world.home, "over"), "");
    const { report } = await client.hear("report", (each) => each.report.leftovers !== undefined);
    expect(report.leftovers?.filter(({ name }) => name === "codex")).toHaveLength(2);
    codex.end();
    const end = await client.hear("report", (each) => each.report.exit !== null);
    expect(end.report.exit).toMatchObject({ code: 0, cause: "by-itself" });
  });

  it("gets a next life without ending that", async () => {
    const held = await startBeside("exit 3");
    joined();
    await world.ended(held);
    await startAgain({ home: world.home, token: "t".repeat(43), url: null, books: null }, "a1", 1, null, {
      holderFile,
    });
    expect(codex.everybody().filter(isThere)).toEqual(codex.everybody());
  });
});
