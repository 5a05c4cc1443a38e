import { settingsOf } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type Config, readConfig, requireConfig } from "./read-config.ts";

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

  it("may differ by the program and the model of an agent that Rouse started, below its type", () => {
    const config = configFrom(`
families: { codex: { loops: { error_class: { stuck: 8 } }, heartbeat: { grace_seconds: 1 } } }
models: { tiny: { loops: { error_class: { stuck: 4 } } } }
agent_types: { coder: { loops: { error_class: { stuck: 7 } } } }
`);
    const of = (family: string, model: string | null, agentType: string | null = null) =>
      config.policyFor({ agentId: "x", agentType, taskId: null, terminal: { family, session: { model } } });
    expect(of("codex", null)).toMatchObject({ beatGrace: 1000, loops: { "error-class": { suspect: 3, stuck: 8 } } });
    expect(of("codex", "tiny").loops["error-class"].stuck).toBe(4);
    expect(of("codex", "tiny", "coder").loops["error-class"].stuck).toBe(7);
    expect(of("generic", "huge")).toBe(config.policyFor({ agentId: "y", agentType: null, taskId: null }));
  });

  it("keeps the rhythm that an agent promised, on top of everything else, as one object for the same promise", () => {
    const promise = { every: 3_600_000, grace: 60_000 };
    const asked = { agentId: "x", agentType: "coder", taskId: null };
    const policy = overridden.policyFor({ ...asked, promise });
    expect(policy).toMatchObject({ beatInterval: 3_600_000, beatGrace: 60_000, beatsPromised: true, mode: "observe" });
    expect(overridden.policyFor({ ...asked, promise: { ...promise } })).toBe(policy);
    expect(overridden.policyFor({ ...asked, promise: null })).toBe(overridden.policyFor(asked));
    expect(policy.id).not.toBe(overridden.policyFor(asked).id);
    const plain = configFrom("").policyFor({ ...asked, promise });
    expect(plain).toMatchObject({ beatInterval: 3_600_000, idleBeatInterval: 3_600_000, mode: "act" });
  });

  it("knows the programs it may be told of", () => {
    const reading = readConfig({ file: { name: "c", text: "families: { claud: { mode: observe } }" } });
    expect(reading).toMatchObject({
      ok: false,
      problems: [{ message: expect.stringContaining("claude-code, codex") }],
    });
  });

  it("is the same object each time for the same combination", () => {
    const ask = (agentId: string) => overridden.policyFor({ agentId, agentType: "coder", taskId: "migrate" });
    expect(ask("ada")).toBe(ask("ada"));
    expect(ask("bob")).toBe(ask("eve"));
    expect(ask("ada")).not.toBe(ask("bob"));
  });

  it("starts from the policy the agent was started with, below its type, its task and its own settings", () => {
    const config = configFrom(`
health_monitoring: { mode: assist, heartbeat: { grace_seconds: 9 } }
policies:
  careful: { mode: observe, heartbeat: { interval_seconds: 40, startup_grace_seconds: 4 } }
agent_types:
  coder: { heartbeat: { interval_seconds: 50 } }
`);
    const of = (policy: string, agentType: string | null = null) =>
      config.policyFor({ agentId: "a", agentType, taskId: null, policy });
    expect(of("careful")).toMatchObject({ mode: "observe", beatInterval: 40_000, beatGrace: 9000, startupGrace: 4000 });
    expect(of("careful", "coder")).toMatchObject({ mode: "observe", beatInterval: 50_000, startupGrace: 4000 });
    expect(of("careful").id).toMatch(/^careful@[0-9a-f]{8}$/);
    expect(of("careful")).toBe(of("careful"));
    expect(of("careful", "coder")).not.toBe(of("careful"));
  });

  it("that names a preset is the preset as it ships, whatever the file changes of its own", () => {
    const config = configFrom(`
preset: tasks
health_monitoring:
  mode: observe
  heartbeat: { timeout_seconds: 900 }
  alerting: { quota: { channels: [ops], severity: info } }
`);
    const fleet = { agentId: "a", agentType: null, taskId: null, policy: "fleet" };
    expect(config.settingsFor(fleet)).toEqual(settingsOf("fleet"));
    expect(config.policyFor(fleet)).toEqual(configFrom("preset: fleet").policyFor({ ...fleet, policy: null }));
    expect(config.settingsFor({ ...fleet, policy: "default" })).toEqual(settingsOf("default"));
  });

  it("that names a preset is the file's own policy of that name, if it has one", () => {
    const config = configFrom("health_monitoring: { mode: assist }\npolicies: { fleet: { enabled: false } }");
    const fleet = { agentId: "a", agentType: null, taskId: null, policy: "fleet" };
    expect(config.policyFor(fleet)).toMatchObject({ enabled: false, mode: "assist", beatInterval: 300_000 });
    expect(config.policyNames()).toEqual(["default", "fleet", "tasks"]);
  });

  it("with a name nobody knows is as if there were none", () => {
    const of = (config: Config, policy?: string | null) =>
      config.policyFor({ agentId: "a", agentType: null, taskId: null, ...(policy === undefined ? {} : { policy }) });
    for (const config of [configFrom(""), overridden]) {
      for (const name of [null, "", "nobody", "constructor", "__proto__", "toString"]) {
        expect(of(config, name)).toBe(of(config));
      }
    }
    expect(configFrom("policies: { careful: {} }").policyNames()).toEqual(["default", "fleet", "tasks", "careful"]);
  });

  it("comes with the settings it was made from, as frozen and as shared as itself", () => {
    const ask = (agentId: string) => ({ agentId, agentType: "coder", taskId: "migrate", policy: "fleet" });
    const settings = overridden.settingsFor(ask("ada"));
    expect(settings.heartbeat).toMatchObject({ interval_seconds: 30, idle_interval_seconds: 10, grace_seconds: 1 });
    expect(overridden.settingsFor(ask("ada"))).toBe(settings);
    expect(overridden.settingsFor(ask("bob"))).toBe(overridden.settingsFor(ask("eve")));
    expect(Object.isFrozen(settings.heartbeat) && Object.isFrozen(settings.terminal.patterns)).toBe(true);
    expect(overridden.settingsFor({ agentId: "x", agentType: null, taskId: null })).toBe(overridden.settings);
  });

  it("is found without writing a key for agents that nothing sets apart", () => {
    const config = configFrom("policies: { careful: { mode: observe } }");
    const written: string[] = [];
    const telltale = (text: string) => ({ toJSON: () => written.push(text) }) as unknown as string;
    const subject = (policy: string | null) => ({
      agentId: telltale("agent"),
      agentType: telltale("type"),
      taskId: telltale("task"),
      policy,
    });
    expect(config.policyFor(subject(null))).toBe(config.policyFor(subject("nobody")));
    expect(written).toEqual([]);
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
