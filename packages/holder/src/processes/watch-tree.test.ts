import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { readProcess, readUnits } from "./read-processes.ts";
import { killHard, nurseryOfEach, onLinux, patient, startAgent, until } from "./real-processes.test-support.ts";
import { createTreeWatch } from "./watch-tree.ts";

const burn = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";

describe.skipIf(!onLinux)("a watch", patient, () => {
  const nursery = nurseryOfEach();

  it("still knows a child that lost its parent, its session and its environment after it was seen", async () => {
    const child = nursery.write("child.sh", [`echo $$ > ${nursery.folder}/child`, `exec ${nursery.linger}`]);
    const middle = nursery.write("middle.sh", [
      `env -i setsid sh ${child} &`,
      `echo $$ > ${nursery.folder}/middle`,
      nursery.linger,
    ]);
    const script = nursery.write("agent.sh", [`sh ${middle} &`, `exec ${nursery.linger}`]);
    const { root } = startAgent(script);
    await nursery.written("child");
    await nursery.written("middle");
    const seeing = createTreeWatch(root);
    expect(seeing.look().map(({ pid }) => pid)).toContain(nursery.pidIn("child"));
    killHard(nursery.pidIn("middle"));
    await until(() => !seeing.look().some(({ pid }) => pid === nursery.pidIn("middle")), "the end of the one between");
    expect(seeing.look().map(({ pid }) => pid)).toContain(nursery.pidIn("child"));
    expect(
      createTreeWatch(root)
        .look()
        .map(({ pid }) => pid),
    ).not.toContain(nursery.pidIn("child"));
  });

  it("counts time, bytes, memory and members, and the sums only grow when children and the agent end", async () => {
    const worker = nursery.write("worker.sh", [burn, `echo $$ > ${nursery.folder}/worker`, `exec ${nursery.linger}`]);
    const script = nursery.write("agent.sh", [
      `sh ${worker} &`,
      "wait",
      `echo over > ${nursery.folder}/waited`,
      `exec ${nursery.linger}`,
    ]);
    const { child, root } = startAgent(script);
    await nursery.written("worker");
    const watch = createTreeWatch(root);
    const before = watch.facts();
    expect(before.processes).toBe(2);
    expect(before.cpuMs).toBeGreaterThan(0);
    expect(before.ioBytes).toBeGreaterThan(0);
    expect(before.memoryBytes).toBeGreaterThan(100_000);

    killHard(nursery.pidIn("worker"));
    await nursery.written("waited");
    const between = watch.facts();
    expect(between.processes).toBe(1);
    expect(between.cpuMs).toBeGreaterThanOrEqual(before.cpuMs);
    expect(between.ioBytes).toBeGreaterThanOrEqual(before.ioBytes);
    // The worker's time is in its parent's numbers now: the same, not twice.
    expect(between.cpuMs).toBeLessThan(before.cpuMs * 2);

    const waited = once(child, "exit");
    killHard(child.pid ?? 0);
    await waited;
    expect(watch.facts()).toMatchObject({ cpuMs: expect.any(Number), processes: 0, memoryBytes: 0 });
    expect(watch.facts().cpuMs).toBeGreaterThanOrEqual(between.cpuMs);
    expect(watch.facts().ioBytes).toBeGreaterThanOrEqual(between.ioBytes);
  });

  it("keeps what children used for whom nobody of the tree waits, and goes on counting from there", async () => {
    const worker = nursery.write("worker.sh", [burn, `echo $$ >> ${nursery.folder}/workers`, `exec ${nursery.linger}`]);
    const script = nursery.write("agent.sh", [
      `( sh ${worker} & )`,
      `while [ ! -e ${nursery.folder}/more ]; do sleep 0.05; done`,
      `( sh ${worker} & )`,
      `exec ${nursery.linger}`,
    ]);
    const { root } = startAgent(script);
    await until(() => nursery.lines("workers").length === 1, "the first worker");
    const watch = createTreeWatch(root);
    const first = watch.facts().cpuMs;
    killHard(nursery.pidIn("workers"));
    await until(() => !nursery.leftovers().includes(nursery.pidIn("workers")), "its end");
    expect(watch.facts().cpuMs).toBeGreaterThanOrEqual(first);
    nursery.write("more", []);
    await until(() => nursery.lines("workers").length === 2, "the second worker");
    expect(watch.facts().cpuMs).toBeGreaterThan(first);
  });

  it("does not count a child twice that is a zombie for a while before its parent waits for it", async ({ skip }) => {
    if (spawnSync("python3", ["-c", ""]).status !== 0) {
      console.warn("NOT RUN: a parent that waits late: python3 is not here");
      skip();
    }
    const { folder } = nursery;
    const rest = `while [ ! -e ${folder}/enough ]; do sleep 0.05; done`;
    const worker = nursery.write("worker.sh", [...Array(5).fill(burn), `echo $$ > ${folder}/worker`, rest]);
    const parent = nursery.write("parent.py", [
      "import os, subprocess, sys, time",
      "child = subprocess.Popen(['sh', sys.argv[1]])",
      `while not os.path.exists('${folder}/wait'): time.sleep(0.01)`,
      "child.wait()",
      `open('${folder}/waited', 'w').write('1')`,
      "time.sleep(1000)",
    ]);
    const { root } = startAgent(nursery.write("agent.sh", [`exec python3 ${parent} ${worker}`]));
    const watch = createTreeWatch(root);
    await until(() => watch.facts().processes > 1 && nursery.lines("worker").length > 0, "the worker at work");
    const work = ((readProcess(nursery.pidIn("worker"))?.cpuTicks ?? 0) * 1000) / readUnits().ticksPerSecond;
    expect(work).toBeGreaterThan(0);
    nursery.write("enough", []);
    await until(() => watch.facts().processes === 1, "a zombie");
    const before = watch.facts().cpuMs;
    nursery.write("wait", []);
    await nursery.written("waited");
    expect(watch.facts().cpuMs - before).toBeLessThan(work / 2);
  });

  it("tells the youngest child with the moment it was started, which stays, until there is a younger one or none", async () => {
    const { folder, linger } = nursery;
    const script = nursery.write("agent.sh", [
      `mkfifo ${folder}/never`,
      `${linger} & echo $! > ${folder}/child`,
      `read x < ${folder}/never`,
    ]);
    const before = Date.now();
    const alone = startAgent(nursery.write("alone.sh", [`exec ${linger}`]));
    expect(createTreeWatch(alone.root).facts().youngestChildAt).toBeNull();

    const { root } = startAgent(script);
    const watch = createTreeWatch(root);
    await nursery.written("child");
    const child = nursery.pidIn("child");
    const at = watch.facts().youngestChildAt ?? 0;
    // The kernel counts in hundredths of a second.
    expect(at).toBeGreaterThanOrEqual(before - 20);
    expect(at).toBeLessThanOrEqual(Date.now() + 20);
    for (let look = 0; look < 5; look++) expect(watch.facts().youngestChildAt).toBe(at);
    killHard(child);
    await until(() => watch.facts().youngestChildAt === null, "no child");
  });
});
