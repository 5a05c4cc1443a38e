import { describe, expect, it } from "vitest";
import { ourLine, whomToSpare } from "./find-tree.ts";
import type { ProcessInfo, TreeRoot } from "./read-processes.ts";
import { findTree, onLinux } from "./real-processes.test-support.ts";

const agent = 4_200_000;
const root: TreeRoot = {
  agent: { pid: agent, startTicks: 100 },
  mark: "nobody-has-this",
  cgroup: null,
  ownGroup: 77,
  useGroup: true,
  known: [],
};

/** Numbers above what the kernel gives out, so that none of them has an environment. */
function at(offset: number, facts: Partial<ProcessInfo> = {}): ProcessInfo {
  const pid = agent + offset;
  const plain = { name: "x", state: "S", threads: 1, cpuTicks: 0, childCpuTicks: 0, rssPages: 0 };
  return { ...plain, pid, ppid: 1, pgid: 50, session: 50, tty: 0, foreground: 0, startTicks: 100 + offset, ...facts };
}

const found = (all: ProcessInfo[], changes: Partial<TreeRoot> = {}): number[] =>
  findTree({ ...root, ...changes }, all).map(({ pid }) => pid - agent);

describe.skipIf(!onLinux)("a tree holds", () => {
  it("the agent and whoever descends from it, also if a number wrapped around", () => {
    const all = [
      at(-5, { ppid: agent + 2, startTicks: 103 }),
      at(0),
      at(1, { ppid: agent }),
      at(2, { ppid: agent + 1 }),
      at(9),
    ];
    expect(found(all)).toEqual([0, 1, 2, -5]);
  });

  it("its session, if the agent leads it, also after the agent became a zombie", () => {
    const led = { session: agent, pgid: 51 };
    expect(found([at(0, led), at(3, led), at(4)])).toEqual([0, 3]);
    expect(found([at(0, { ...led, state: "Z" }), at(3, led)])).toEqual([3]);
    expect(found([at(0), at(3)])).toEqual([0]);
  });

  it("its process group, if the agent leads it and does not share it", () => {
    const all = [at(0, { pgid: agent }), at(3, { pgid: agent })];
    expect(found(all)).toEqual([0, 3]);
    expect(found(all, { useGroup: false })).toEqual([0]);
  });

  it("sessions and groups made by members", () => {
    const child = at(1, { ppid: agent, session: agent + 1, pgid: agent + 1 });
    const grandchild = at(2, { ppid: agent, pgid: agent + 2 });
    const all = [at(0), child, grandchild, at(3, { session: agent + 1 }), at(4, { pgid: agent + 2 })];
    expect(found(all)).toEqual([0, 1, 2, 3, 4]);
  });

  it("who was seen before, with descendants, but not who has the number now", () => {
    const all = [at(5), at(6, { ppid: agent + 5 })];
    expect(found(all, { known: [{ pid: agent + 5, startTicks: 105 }] })).toEqual([5, 6]);
    expect(found(all, { known: [{ pid: agent + 5, startTicks: 104 }] })).toEqual([]);
  });

  it("a session whose leader was seen and is gone, unless the number leads another one now", () => {
    const orphan = at(6, { session: agent + 5 });
    expect(found([orphan], { sessions: [agent + 5] })).toEqual([6]);
    expect(found([at(5, { session: agent + 5 }), orphan], { sessions: [agent + 5] })).toEqual([]);
  });

  it("no zombies", () => {
    expect(found([at(0), at(1, { ppid: agent, state: "Z" })])).toEqual([0]);
  });

  it("nobody who was there before the agent, whatever it looks like", () => {
    expect(found([at(0), at(1, { ppid: agent, startTicks: 99 })])).toEqual([0]);
  });

  it("nobody of our own process group", () => {
    expect(found([at(0), at(1, { ppid: agent, pgid: 77 }), at(2, { ppid: agent + 1 })])).toEqual([0]);
  });

  it("neither us, nor those we come from, nor the first process, even if they are named", () => {
    const us = { ...at(1), pid: process.pid, ppid: process.ppid };
    const before = { ...at(1), pid: process.ppid, ppid: 1, session: agent };
    const first = { ...at(1), pid: 1, ppid: 0, session: agent };
    const line = [at(0, { session: agent }), us, before, first];
    const known = line.map(({ pid, startTicks }) => ({ pid, startTicks }));
    expect(found(line, { known })).toEqual([0]);
    expect([...whomToSpare(root, line)]).toEqual(expect.arrayContaining([1, process.pid, process.ppid]));
    expect(ourLine(line)).toEqual([process.pid, process.ppid, 1]);
    expect(ourLine([us, { ...before, ppid: process.pid }])).toEqual([process.pid, process.ppid]);
  });
});
