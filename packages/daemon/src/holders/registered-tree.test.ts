import { type HolderFile, identityOf } from "@rouse/holder";
import { describe, expect, it } from "vitest";
import type { RegisteredLife } from "../ports/holders.ts";
import { markedTree, registeredTree } from "./registered-tree.ts";

const agent = { pid: 4242, startTicks: 77 };
const file: HolderFile = {
  agentId: "a1",
  incarnation: 3,
  holder: { pid: 4241, startTicks: 76 },
  agent,
  socket: "",
  tier: "marked",
  cgroup: null,
  mark: "ours",
  startedAt: 0,
  left: { known: [{ pid: 5000, startTicks: 80 }], codexHomes: [] },
};
const life: RegisteredLife = {
  incarnation: 3,
  pid: 4242,
  identity: { startTicks: 77, mark: "ours", cgroup: null },
  left: [5000],
};

describe("what the file of a holder that is gone says of processes", () => {
  it("is believed where it is what was registered", () => {
    expect(registeredTree(file, life)).toMatchObject({ agent, mark: "ours", known: [{ pid: 5000 }] });
  });

  it.each<[string, Partial<HolderFile>]>([
    ["another process", { agent: { pid: 9, startTicks: 77 } }],
    ["a process that got the same number later", { agent: { pid: 4242, startTicks: 78 } }],
    ["another mark", { mark: "somebody else's" }],
    ["another control group", { cgroup: "/sys/fs/cgroup/rouse-agents/x/agent" }],
    ["another life", { incarnation: 2 }],
    ["no process", { agent: null }],
  ])("is not believed where it names %s", (_, change) => {
    expect(registeredTree({ ...file, ...change }, life)).toBeNull();
  });

  it("is not believed of an agent that nobody knows", () => {
    expect(registeredTree(file, null)).toBeNull();
  });

  it("is believed of those it left where its holder told of them", () => {
    expect(registeredTree(file, { ...life, left: [] })?.known).toEqual([]);
  });

  it("is believed without a registered identity where its process is gone or carries its mark", () => {
    const us = identityOf(process.pid);
    const unknown = { ...life, identity: null };
    expect(registeredTree(file, unknown)).not.toBeNull();
    expect(registeredTree({ ...file, agent: us }, { ...unknown, pid: process.pid })).toBeNull();
    expect(markedTree(file)).toMatchObject({ agent, known: [] });
    expect(markedTree({ ...file, agent: us })).toBeNull();
  });
});
