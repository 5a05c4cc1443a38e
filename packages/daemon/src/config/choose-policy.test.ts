import { describe, expect, it } from "vitest";
import { readConfig, requireConfig } from "./read-config.ts";

const configFrom = (text: string) => requireConfig(readConfig({ file: { name: "c", text } }));

const overridden = configFrom(`
agent_types:
  coder: { mode: observe, heartbeat: { interval_seconds: 10, grace_seconds: 1 } }
tasks:
  migrate: { heartbeat: { interval_seconds: 20, startup_grace_seconds: 7 } }
agents:
  ada: { heartbeat: { interval_seconds: 30 } }
`);

describe("the policy of an agent", () => {
  it("is one shared object when there are no overrides, whoever asks", () => {
    const config = configFrom("");
    const policy = config.policyFor({ agentId: "a", agentType: null, taskId: null });
    expect(config.policyFor({ agentId: "b", agentType: "coder", taskId: "t" })).toBe(policy);
  });

  it("is that shared object for everybody no override speaks of", () => {
    const policy = overridden.policyFor({ agentId: "a", agentType: null, taskId: null });
    expect(overridden.policyFor({ agentId: "b", agentType: "tester", taskId: "t" })).toBe(policy);
    expect(overridden.policyFor({ agentId: "constructor", agentType: "__proto__", taskId: "toString" })).toBe(policy);
  });

  it("takes the agent's own settings before its task's, and its task's before its type's", () => {
    const of = (agentId: string, agentType: string | null, taskId: string | null) =>
      overridden.policyFor({ agentId, agentType, taskId });
    expect(of("x", "coder", null).beatInterval).toBe(10_000);
    expect(of("x", "coder", "migrate").beatInterval).toBe(20_000);
    expect(of("ada", "coder", "migrate").beatInterval).toBe(30_000);
    expect(of("ada", "coder", "migrate")).toMatchObject({ mode: "observe", beatGrace: 1000, startupGrace: 7000 });
    expect(of("ada", null, null)).toMatchObject({ mode: "act", beatGrace: 2000, startupGrace: 600_000 });
  });

  it("is the same object each time for the same combination", () => {
    const ask = (agentId: string) => overridden.policyFor({ agentId, agentType: "coder", taskId: "migrate" });
    expect(ask("ada")).toBe(ask("ada"));
    expect(ask("bob")).toBe(ask("eve"));
    expect(ask("ada")).not.toBe(ask("bob"));
  });

  it("has an id that names the preset and changes with the settings, not with how they were written", () => {
    const idOf = (text: string) => configFrom(text).policyFor({ agentId: "a", agentType: null, taskId: null }).id;
    expect(idOf("")).toMatch(/^default@[0-9a-f]{8}$/);
    expect(idOf("preset: fleet")).toMatch(/^fleet@[0-9a-f]{8}$/);
    expect(idOf("health_monitoring: { mode: act, enabled: true }")).toBe(idOf(""));
    expect(idOf("health_monitoring: { mode: assist }")).not.toBe(idOf(""));
  });

  it("stays cheap to ask for when far more combinations exist than are remembered", () => {
    const agents = Array.from({ length: 10_050 }, (_, i) => `  a${i}: { heartbeat: { grace_seconds: 1 } }`).join("\n");
    const config = configFrom(`agents:\n${agents}`);
    const ask = (i: number) => config.policyFor({ agentId: `a${i}`, agentType: null, taskId: null });
    const first = ask(0);
    for (let i = 1; i < 10_050; i++) ask(i);
    expect(ask(10_049)).toBe(ask(10_049));
    expect(ask(0)).toEqual(first);
    expect(ask(0)).not.toBe(first);
  });
});
