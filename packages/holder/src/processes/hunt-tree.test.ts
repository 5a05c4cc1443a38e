import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readProcess } from "./read-processes.ts";
import {
  cgroupsHere,
  groupHere,
  isThere,
  killHard,
  type Nursery,
  nurseryOfEach,
  onLinux,
  patient,
  startAgent,
  startBystander,
  until,
} from "./real-processes.test-support.ts";
import { createHunt, stopTree } from "./stop-tree.ts";
import { createTreeWatch } from "./watch-tree.ts";

describe.skipIf(!onLinux)("a signal", patient, () => {
  const nursery = nurseryOfEach();

  it("is not sent to somebody who only has the same pid", async () => {
    const { folder } = nursery;
    const script = nursery.write("listens.sh", [
      `trap 'echo meant for another >> ${folder}/heard' USR1`,
      `trap 'echo meant for it >> ${folder}/heard' USR2`,
      `echo listening > ${folder}/ready`,
      "while :; do sleep 0.02; done",
    ]);
    const { root } = startAgent(script);
    const { pid, startTicks } = root.agent;
    await nursery.written("ready");
    const hunt = createHunt(createTreeWatch(root));
    for (const shift of [-1, 1]) hunt.send({ pid, startTicks: startTicks + shift }, "SIGUSR1");
    hunt.send({ pid, startTicks }, "SIGUSR2");
    await until(() => nursery.lines("heard").includes("meant for it"), "the right one");
    expect(nursery.lines("heard")).toEqual(["meant for it"]);
    hunt.send({ pid, startTicks }, "SIGKILL");
    await until(() => !isThere(pid), "its end");
    hunt.send({ pid, startTicks }, "SIGKILL");
    expect(hunt.isDenied({ pid, startTicks })).toBe(false);
  });

  it.skipIf(!cgroupsHere)("to a whole group is not sent if it would hit somebody who was there before", async () => {
    const earlier = startBystander(nursery, true);
    const clock = readProcess(earlier)?.startTicks ?? 0;
    await until(() => (readProcess(killedAtOnce(nursery))?.startTicks ?? 0) > clock, "a later tick of the clock");
    const group = groupHere();
    const { root } = startAgent(nursery.write("agent.sh", ["trap '' TERM", nursery.linger]), group);
    writeFileSync(join(group.folder, "cgroup.procs"), String(earlier));
    await until(() => group.members().length >= 3, "all of them in the group");
    expect(await stopTree(root, { graceMs: 50 })).toMatchObject({ kind: "stopped", forced: true });
    expect(nursery.leftovers()).toEqual([earlier]);
    killHard(earlier);
    await until(() => group.members().length === 0, "an empty group");
    group.remove();
  });
});

/** Its number is taken until we have heard of its end, so it can still be read. */
function killedAtOnce(nursery: Nursery): number {
  const pid = startBystander(nursery);
  killHard(pid);
  return pid;
}
