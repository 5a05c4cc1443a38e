import { type AgentHealth, Fault } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { healthy, heldFor, stuck } from "../../show/sample.test-support.ts";
import { type PsFilters, readFilters } from "./filter-agents.ts";

const done: AgentHealth = {
  ...healthy,
  agentId: "done",
  activity: { kind: "FINISHED", since: "2026-02-05T10:00:00.000Z" },
  over: { how: "finished", code: 0, signal: null, at: "2026-02-05T10:00:00.000Z" },
};
const asking: AgentHealth = {
  ...healthy,
  agentId: "asking",
  terminal: { ...heldFor(null), needsYou: { what: "permission", since: "2026-02-05T10:00:00.000Z" } },
};
const everybody = [stuck, healthy, done, asking];

function chosen(filters: PsFilters): string[] {
  const read = readFilters(filters);
  if (read instanceof Fault) throw read;
  return read.choose(everybody).map(({ agentId }) => agentId);
}

describe("ps", () => {
  it("chooses by state as it is shown, by activity, node, type and task, and by all of them at once", () => {
    expect(chosen({ state: "stuck, DEGRADED" })).toEqual(["worker-1"]);
    expect(chosen({ state: "HEALTHY" })).toEqual(["worker-10", "asking"]);
    expect(chosen({ state: "FINISHED" })).toEqual(["done"]);
    expect(chosen({ activity: "RUNNING,FINISHED" })).toEqual(["worker-1", "done"]);
    expect(chosen({ node: "build-1" })).toEqual(["worker-1"]);
    expect(chosen({ task: "bd-288", type: "coder" })).toEqual(["worker-1"]);
    expect(chosen({ node: "build-1", state: "HEALTHY" })).toEqual([]);
  });

  it("chooses who is not well, and who waits for a person", () => {
    expect(chosen({ unhealthy: true })).toEqual(["worker-1"]);
    expect(chosen({ needsMe: true })).toEqual(["asking"]);
  });

  it("shows those that are over when they are named", () => {
    expect(readFilters({ state: "FINISHED" })).toMatchObject({ namesEnds: true });
    expect(readFilters({ state: "STUCK" })).toMatchObject({ namesEnds: false });
  });

  it("refuses what it does not know, with what was probably meant", () => {
    expect(() => chosen({ state: "STUK" })).toThrow(/"STUK" is none of HEALTHY.*did you mean STUCK\?/);
    expect(() => chosen({ activity: "WATING" })).toThrow("did you mean WAITING?");
    expect(() => chosen({ node: "biuld-1" })).toThrow("no agent is on node biuld-1; did you mean build-1?");
    expect(() => chosen({ task: "x" })).toThrow("no agent works on task x");
  });
});
