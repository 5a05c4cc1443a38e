import { chmodSync, existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AgentGroup } from "./cgroup.ts";
import { readProcess } from "./read-processes.ts";
import {
  cgroupsHere,
  groupHere,
  isThere,
  nurseryOfEach,
  onLinux,
  patient,
  startAgent,
  until,
  warnOfWhatIsLeftOut,
} from "./real-processes.test-support.ts";
import { stopTree } from "./stop-tree.ts";
import { createTreeWatch } from "./watch-tree.ts";

const freezer = "/sys/fs/cgroup/freezer";
const isRoot = process.getuid?.() === 0;

describe.skipIf(!onLinux)("whoever survives", patient, () => {
  const nursery = nurseryOfEach();

  /** Double-forked into a new session with a clean environment, while nobody looks. */
  async function startWithEscapee(group: AgentGroup | null) {
    const { folder, linger } = nursery;
    const escapee = nursery.write("escapee.sh", [`echo $$ > ${folder}/escapee`, `exec ${linger}`]);
    const middle = nursery.write("middle.sh", [`env -i setsid sh ${escapee} &`, `echo $$ > ${folder}/middle`]);
    const { root } = startAgent(nursery.write("agent.sh", [`sh ${middle}`, `exec ${linger}`]), group);
    await until(
      () => nursery.pidIn("escapee") > 0 && nursery.pidIn("middle") > 0 && !isThere(nursery.pidIn("middle")),
      "the escape",
    );
    return root;
  }

  it("without a control group is who was orphaned, in a new session and without the mark, before anybody looked", async () => {
    const root = await startWithEscapee(null);
    const outcome = await stopTree(root, { graceMs: 10_000 });
    expect(outcome).toEqual({ kind: "stopped", forced: false, processes: 1, tier: "marked" });
    expect(nursery.leftovers()).toEqual([nursery.pidIn("escapee")]);
  });

  it.skipIf(!cgroupsHere)("in a control group is not even who did all that", async () => {
    const group = groupHere();
    const root = await startWithEscapee(group);
    expect(await stopTree(root, { graceMs: 10_000 })).toMatchObject({ kind: "stopped", processes: 2, tier: "cgroup" });
    expect(nursery.leftovers()).toEqual([]);
    group.remove();
  });

  it.skipIf(!isRoot)("because it belongs to another user is named, not reported as stopped", async () => {
    const { folder, linger } = nursery;
    chmodSync(folder, 0o755);
    const script = nursery.write("agent.sh", [`exec ${linger}`]);
    const { root } = startAgent(script, null, { uid: 54_321, gid: 54_321, cwd: "/" });
    await until(() => readProcess(root.agent.pid)?.name === "sleep", "the agent");
    const watch = createTreeWatch(root);
    // Root may signal everybody, so we are somebody else for the moment.
    process.seteuid?.(12_345);
    const outcome = await stopTree(watch, { graceMs: 50 }).finally(() => process.seteuid?.(0));
    expect(outcome).toMatchObject({ kind: "termination_incomplete", survivors: [{ pid: root.agent.pid }] });
    expect(isThere(root.agent.pid)).toBe(true);
  });

  it.skipIf(!isRoot || !existsSync(freezer))(
    "because the kernel will not end it is named too",
    async () => {
      const box = `${freezer}/rouse-test-${nursery.token}`;
      const { root } = startAgent(nursery.write("agent.sh", [`exec ${nursery.linger}`]));
      mkdirSync(box);
      try {
        writeFileSync(`${box}/cgroup.procs`, String(root.agent.pid));
        // Frozen by the old kind of control group, a process does not even die.
        writeFileSync(`${box}/freezer.state`, "FROZEN");
        const outcome = await stopTree(root, { graceMs: 50 });
        expect(outcome).toMatchObject({ kind: "termination_incomplete", survivors: [{ pid: root.agent.pid }] });
      } finally {
        writeFileSync(`${box}/freezer.state`, "THAWED");
        await until(() => !isThere(root.agent.pid), "its end");
        await until(() => removes(box), "an empty box");
      }
    },
    30_000,
  );

  const removes = (folder: string): boolean => {
    try {
      rmdirSync(folder);
      return true;
    } catch {
      return false;
    }
  };
});

warnOfWhatIsLeftOut("an escape that fails");
if (!isRoot)
  console.warn("NOT RUN: a survivor of another user, and one the kernel will not end: only root can make them");
else if (!existsSync(freezer)) console.warn(`NOT RUN: a survivor the kernel will not end: there is no ${freezer}`);
