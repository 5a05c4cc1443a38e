import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readProcess } from "./read-processes.ts";
import {
  cgroupsHere,
  findTree,
  groupHere,
  isThere,
  nurseryOfEach,
  onLinux,
  patient,
  startAgent,
  until,
} from "./real-processes.test-support.ts";
import { createHunt, stopTree } from "./stop-tree.ts";
import { createTreeWatch } from "./watch-tree.ts";

describe.skipIf(!onLinux)("a process in an agent's tree", patient, () => {
  const nursery = nurseryOfEach();

  /** An agent with a child that carries the mark `b-mark` of an agent `b`. */
  async function startWithGuest(group = cgroupsHere ? groupHere() : null) {
    const asB = `env ROUSE_MARK=b-mark ROUSE_AGENT_ID=b ROUSE_HOME=${nursery.folder}`;
    const child = `${asB} sh -c 'echo $$ > ${nursery.folder}/guest; exec ${nursery.linger}'`;
    const { root } = startAgent(nursery.write("agent.sh", [`${child} &`, nursery.linger]), group);
    await until(() => nursery.pidIn("guest") > 0 && findTree(root).length >= 2, "its child");
    return { root, guest: nursery.pidIn("guest") };
  }

  /** What is written down of agent `b`, whose process is `pid`. */
  function writeClaim(pid: number, mark = "b-mark"): void {
    const agent = { pid, startTicks: readProcess(pid)?.startTicks ?? 0 };
    const claim = { agentId: "b", holder: { pid: 999_999_999, startTicks: 1 }, agent, mark };
    mkdirSync(join(nursery.folder, "holders", "b"), { recursive: true });
    writeFileSync(join(nursery.folder, "holders", "b", "holder.json"), JSON.stringify(claim));
  }

  it("that carries the mark of another living agent is that agent's, and is forgotten by those who knew it", async () => {
    const { root, guest } = await startWithGuest();
    const watch = createTreeWatch(root);
    expect(watch.look().map(({ pid }) => pid)).toContain(guest);
    writeClaim(guest);
    expect(watch.look().map(({ pid }) => pid)).not.toContain(guest);
    expect(watch.root().known.map(({ pid }) => pid)).not.toContain(guest);
    expect(watch.others().map(({ pid, agent }) => [pid, agent])).toEqual([[guest, "b"]]);
    const spared = [{ pid: guest, name: "sleep", agents: ["b"], because: "is-another" }];
    expect(await stopTree(watch, { graceMs: 100 })).toMatchObject({ kind: "stopped", spared });
    expect(isThere(guest)).toBe(true);
    expect(await stopTree(watch, { graceMs: 100 })).toMatchObject({ spared });
  });

  it("does not escape by carrying a mark that nobody has, or the mark of an agent that is over", async () => {
    const { root, guest } = await startWithGuest();
    const over: ChildProcess = spawn("true");
    const pid = over.pid ?? 0;
    writeClaim(pid);
    await until(() => !isThere(pid), "an agent that is over");
    writeClaim(guest, "another mark");
    expect(findTree(root).map((each) => each.pid)).toContain(guest);
    writeClaim(pid);
    expect(await stopTree(root, { graceMs: 100 })).not.toHaveProperty("spared");
    expect(nursery.leftovers()).toEqual([]);
  });

  it("that became another agent's after the last look gets no signal", async () => {
    const { root, guest } = await startWithGuest();
    const hunt = createHunt(createTreeWatch(root));
    const member = hunt.look().find(({ pid }) => pid === guest);
    if (member === undefined) throw new Error("it was not found");
    writeClaim(guest);
    hunt.send(member, "SIGKILL");
    hunt.killGroup();
    expect(isThere(root.agent.pid)).toBe(true);
    hunt.send(root.agent, "SIGKILL");
    await until(() => !isThere(root.agent.pid), "the end of somebody who was signalled later");
    expect(isThere(guest)).toBe(true);
  });
});
