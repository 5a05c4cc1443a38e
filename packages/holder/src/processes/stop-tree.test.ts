import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isStopped, readProcess } from "./read-processes.ts";
import {
  cgroupsHere,
  groupHere,
  isThere,
  nurseryOfEach,
  onLinux,
  patient,
  rootOf,
  startAgent,
  startBystander,
  until,
} from "./real-processes.test-support.ts";
import { stopTree } from "./stop-tree.ts";
import { createTreeWatch } from "./watch-tree.ts";

const graceMs = 100;

describe.skipIf(!onLinux)("stopping a tree", patient, () => {
  const nursery = nurseryOfEach();

  const ready = (count = 1) => until(() => nursery.lines("ready").length >= count, `all ${count}`);
  const say = () => `echo $$ >> ${nursery.folder}/ready`;

  it("asks first, and says how many ended", async () => {
    const child = nursery.write("child.sh", [say(), `exec ${nursery.linger}`]);
    const { root } = startAgent(nursery.write("agent.sh", [`sh ${child} &`, say(), `exec ${nursery.linger}`]));
    await ready(2);
    expect(await stopTree(root, { graceMs: 10_000 })).toMatchObject({ kind: "stopped", forced: false, processes: 2 });
    expect(nursery.leftovers()).toEqual([]);
  });

  const asRoot = process.getuid?.() === 0;

  it.skipIf(!cgroupsHere || !asRoot).each([
    ["could leave its control group, as root can, and may have", {}, true],
    ["could not leave its control group, as another user cannot", { uid: 65534, gid: 65534 }, undefined],
  ])("says whether an agent %s", async (_, options, mayHaveLeft) => {
    const group = groupHere();
    const child = group.spawnInside(() => spawn("sleep", ["1000"], { detached: true, stdio: "ignore", ...options }));
    const outcome = await stopTree(rootOf(child, "never-used", group), { graceMs: 10_000 });
    expect(outcome).toMatchObject({ kind: "stopped", tier: "cgroup" });
    expect(outcome.kind === "stopped" && outcome.mayHaveLeft).toBe(mayHaveLeft);
    group.remove();
  });

  it("lets an agent finish what it does when asked", async () => {
    const farewell = `trap 'echo bye > ${nursery.folder}/farewell; exit 0' TERM`;
    const { root } = startAgent(nursery.write("agent.sh", [farewell, say(), "while :; do sleep 0.02; done"]));
    await ready();
    expect(await stopTree(root, { graceMs: 10_000 })).toMatchObject({ kind: "stopped", forced: false });
    expect(nursery.lines("farewell")).toEqual(["bye"]);
  });

  it("asks each of them once: many take a second time for an order to drop everything", async () => {
    const hears = `trap 'echo asked >> ${nursery.folder}/heard' TERM`;
    // Several looks later.
    const leaves = [`until [ -s ${nursery.folder}/heard ]; do sleep 0.02; done`, ...Array(20).fill("sleep 0.02")];
    const { root } = startAgent(nursery.write("agent.sh", [hears, say(), ...leaves]));
    await ready();
    expect(await stopTree(root, { graceMs: 30_000 })).toMatchObject({ kind: "stopped", forced: false });
    expect(nursery.lines("heard")).toEqual(["asked"]);
  });

  it("forces whoever does not listen, and whoever starts them again", async () => {
    const child = nursery.write("child.sh", ["trap '' TERM", say(), `exec ${nursery.linger}`]);
    const agent = nursery.write("agent.sh", ["trap '' TERM", say(), `while :; do setsid sh ${child}; done`]);
    const { root } = startAgent(agent);
    await ready(2);
    expect(await stopTree(root, { graceMs })).toMatchObject({ kind: "stopped", forced: true });
    expect(nursery.leftovers()).toEqual([]);
  });

  it("halts everybody before it kills anybody, so that nobody can hide a successor meanwhile", async () => {
    const { folder, linger } = nursery;
    const hidden = nursery.write("hidden.sh", [`exec ${linger}`]);
    const victim = nursery.write("victim.sh", [say(), `exec 3> ${folder}/pulse`, `exec ${linger}`]);
    const heir = nursery.write("heir.sh", [
      say(),
      `read x < ${folder}/pulse`,
      `( env -i setsid sh ${hidden} & )`,
      linger,
    ]);
    // The heir is the last of many, so that it has time enough between the victim's end and its own.
    const { root } = startAgent(
      nursery.write("agent.sh", [
        "trap '' TERM",
        `mkfifo ${folder}/pulse`,
        `sh ${victim} &`,
        ...Array(150).fill(`${linger} &`),
        `sh ${heir} &`,
        `exec ${linger}`,
      ]),
    );
    await ready(2);
    expect(await stopTree(root, { graceMs })).toMatchObject({ kind: "stopped", forced: true });
    expect(nursery.leftovers()).toEqual([]);
  });

  it("stops those that stand still, and asks them first all the same", async () => {
    const { root } = startAgent(nursery.write("agent.sh", [say(), `exec ${nursery.linger}`]));
    await ready();
    process.kill(root.agent.pid, "SIGSTOP");
    await until(() => isStopped(readProcess(root.agent.pid) ?? fail()), "stillness");
    expect(await stopTree(root, { graceMs: 10_000 })).toMatchObject({ kind: "stopped", forced: false });
  });

  it("says that it is over when it is, and takes a zombie for gone", async () => {
    const brief = nursery.write("brief.sh", [`while [ ! -e ${nursery.folder}/end ]; do sleep 0.05; done`]);
    const { root } = startAgent(
      nursery.write("agent.sh", [`sh ${brief} &`, `echo $! > ${nursery.folder}/brief`, `exec ${nursery.linger}`]),
    );
    await until(() => readProcess(root.agent.pid)?.name === "sleep", "an agent that waits for nobody");
    nursery.write("end", []);
    await until(() => readProcess(nursery.pidIn("brief"))?.state === "Z", "a zombie");
    expect(await stopTree(root, { graceMs: 10_000 })).toMatchObject({ kind: "stopped", forced: false, processes: 1 });
    expect(await stopTree(root, { graceMs })).toEqual({ kind: "already-over" });
  });

  it("is the same stop when asked for twice at once", async () => {
    const { root } = startAgent(nursery.write("agent.sh", ["trap '' TERM", say(), `exec ${nursery.linger}`]));
    await ready();
    const first = stopTree(root, { graceMs });
    expect(stopTree(createTreeWatch(root), { graceMs: 0 })).toBe(first);
    expect(await first).toMatchObject({ kind: "stopped", forced: true, processes: 1 });
    expect(await stopTree(root, { graceMs })).toEqual({ kind: "already-over" });
  });

  it("spares everybody else: same user, same session, same parent", async () => {
    const others = [startBystander(nursery), startBystander(nursery, true)];
    const { root } = startAgent(nursery.write("agent.sh", ["trap '' TERM", say(), nursery.linger]));
    await ready();
    others.push(startBystander(nursery), startBystander(nursery, true));
    expect(await stopTree(root, { graceMs })).toMatchObject({ kind: "stopped" });
    expect(nursery.leftovers().sort()).toEqual(others.sort());
  });

  it("spares the rest of a pipeline that the agent shares its process group with", async ({ skip }) => {
    if (!existsSync("/bin/bash")) {
      console.warn("NOT RUN: an agent in a pipeline: bash is not here");
      skip();
    }
    const agent = nursery.write("agent.sh", [`echo $$ > ${nursery.folder}/agent`, say(), `exec ${nursery.linger}`]);
    const rest = nursery.write("rest.sh", [`echo $$ > ${nursery.folder}/rest`, say(), `exec ${nursery.linger}`]);
    // With job control the first of a pipeline leads a process group that the others join.
    const line = nursery.write("line.sh", ["set -m", `ROUSE_MARK=of-the-agent sh ${agent} | sh ${rest}`]);
    spawn("/bin/bash", [line], { detached: true, stdio: "ignore" });
    await ready(2);
    const pid = nursery.pidIn("agent");
    const other = nursery.pidIn("rest");
    expect(readProcess(other)?.pgid).toBe(pid);
    const root = { ...rootOf({ pid }, "of-the-agent"), useGroup: false };
    const outcome = await stopTree(root, { graceMs: 10_000 });
    expect(outcome).toMatchObject({ kind: "stopped", forced: false, processes: 1 });
    expect(isThere(other)).toBe(true);
  });

  it("can stop an agent that was put into our own process group on purpose, and nobody else there", async () => {
    const other = startBystander(nursery);
    const agent = nursery.write("agent.sh", [say(), `exec ${nursery.linger}`]);
    const { root } = startAgent(agent, null, { detached: false });
    await ready();
    expect(await stopTree({ ...root, ownGroup: 0, useGroup: false }, { graceMs })).toMatchObject({ kind: "stopped" });
    expect(nursery.leftovers()).toEqual([other]);
  });
});

describe.skipIf(!onLinux)("stopping is refused for", patient, () => {
  const nursery = nurseryOfEach();

  it("the first process, ourselves and those we come from", async () => {
    const { root } = startAgent(nursery.write("agent.sh", [`exec ${nursery.linger}`]));
    for (const pid of [0, 1, -1, process.pid, process.ppid]) {
      const startTicks = readProcess(pid)?.startTicks ?? 0;
      const outcome = await stopTree({ ...root, agent: { pid, startTicks } }, { graceMs });
      expect(outcome, String(pid)).toEqual({ kind: "refused", because: "pid-refused" });
    }
    expect(isThere(root.agent.pid)).toBe(true);
  });

  it("our own process group", async () => {
    const { root } = startAgent(nursery.write("agent.sh", [`exec ${nursery.linger}`]), null, { detached: false });
    expect(await stopTree(root, { graceMs })).toEqual({ kind: "refused", because: "own-group" });
    expect(isThere(root.agent.pid)).toBe(true);
  });

  it("a pid that belongs to somebody else by now", async () => {
    const pid = startBystander(nursery, true);
    const real = rootOf({ pid }, "never-used");
    for (const shift of [-1000, -1, 1, 1000]) {
      const root = { ...real, agent: { pid, startTicks: real.agent.startTicks + shift } };
      expect(await stopTree(root, { graceMs })).toEqual({ kind: "refused", because: "identity-changed" });
    }
    expect(isThere(pid)).toBe(true);
  });

  it.skipIf(!cgroupsHere)("no such pid if an empty control group proves that the tree is over", async () => {
    const pid = startBystander(nursery, true);
    const group = groupHere();
    const { agent, ...root } = rootOf({ pid }, "never-used", group);
    const before = { ...agent, startTicks: agent.startTicks - 1 };
    expect(await stopTree({ ...root, agent: before }, { graceMs })).toEqual({ kind: "already-over" });
    expect(isThere(agent.pid)).toBe(true);
    group.remove();
  });

  it.each([
    ["elsewhere", true],
    ["in our own process group", false],
  ])(
    "nobody else of a tree whose agent's pid was given away %s: those are stopped by their mark",
    async (_, elsewhere) => {
      const innocent = startBystander(nursery, elsewhere);
      const { root } = startAgent(nursery.write("agent.sh", [`exec ${nursery.linger}`]));
      const agent = { pid: innocent, startTicks: (readProcess(innocent)?.startTicks ?? 0) - 1 };
      await until(() => createTreeWatch(root).look().length === 1, "the marked one");
      expect(await stopTree({ ...root, agent, known: [agent] }, { graceMs })).toMatchObject({
        kind: "stopped",
        processes: 1,
      });
      expect(nursery.leftovers()).toEqual([innocent]);
    },
  );
});

function fail(): never {
  throw new Error("it is gone");
}
