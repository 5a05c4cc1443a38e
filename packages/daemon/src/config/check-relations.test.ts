import { describe, expect, it } from "vitest";
import { describeProblem } from "./config-problem.ts";
import { readConfig, requireConfig } from "./read-config.ts";

const read = (text: string) => readConfig({ file: { name: "c", text } });

function problemsIn(text: string): string[] {
  const reading = read(text);
  return reading.ok ? [] : reading.problems.map(describeProblem);
}

describe("settings that contradict each other", () => {
  it("are refused: an agent that beats on time must not be late", () => {
    expect(problemsIn("health_monitoring: { heartbeat: { timeout_seconds: 60 } }")).toEqual([
      "c:1:52 health_monitoring.heartbeat.timeout_seconds: found 60, expected at least heartbeat.interval_seconds, which is 300",
    ]);
    expect(problemsIn("preset: fleet\nhealth_monitoring: { heartbeat: { timeout_seconds: 5 } }")).toEqual([]);
  });

  it("are refused: warning signs come before being stuck", () => {
    const text = "health_monitoring: { health_check: { checkpoint_degraded_threshold_seconds: 3600 } }";
    expect(problemsIn(text)[0]).toContain(
      "found 3600, expected at most health_check.checkpoint_stale_threshold_seconds, which is 1800",
    );
  });

  it("are found in an override too, once it lies over the rest", () => {
    const text = `
health_monitoring: { heartbeat: { timeout_seconds: 600 } }
agent_types: { slow: { heartbeat: { interval_seconds: 900 } } }
policies: { calm: { heartbeat: { interval_seconds: 700 } } }
tasks: { t1: { heartbeat: { interval_seconds: 600 } } }
agents: { a1: { heartbeat: { timeout_seconds: 100 } }, a2: { mode: observe } }
`;
    expect(problemsIn(text)).toEqual([
      "c:3:55 agent_types.slow.heartbeat.interval_seconds: found 900, expected at most heartbeat.timeout_seconds, which is 600",
      "c:4:52 policies.calm.heartbeat.interval_seconds: found 700, expected at most heartbeat.timeout_seconds, which is 600",
      "c:6:47 agents.a1.heartbeat.timeout_seconds: found 100, expected at least heartbeat.interval_seconds, which is 300",
    ]);
  });

  it("are told once, not again for each override that has no part in it", () => {
    const text =
      "health_monitoring: { heartbeat: { timeout_seconds: 60 } }\nagents: { a: { mode: act }, b: { mode: act } }";
    expect(problemsIn(text)).toHaveLength(1);
  });

  it("are not told when one of them is wrong by itself", () => {
    const text = "health_monitoring: { heartbeat: { interval_seconds: 99999999, timeout_seconds: 60 } }";
    expect(problemsIn(text)).toHaveLength(1);
  });

  it("are told together with mistakes elsewhere in the file", () => {
    const text = "nonsense: 1\nhealth_monitoring: { heartbeat: { timeout_seconds: 60 } }";
    expect(problemsIn(text)).toHaveLength(2);
  });

  it("and meet only on one agent are settled on the patient side", () => {
    const reading = read(`
agent_types: { slow: { heartbeat: { interval_seconds: 900 } } }
agents: { a1: { heartbeat: { timeout_seconds: 400 } } }
policies: { calm: { heartbeat: { interval_seconds: 800 } } }
`);
    const policy = requireConfig(reading).policyFor({ agentId: "a1", agentType: "slow", taskId: null });
    expect(policy.beatInterval).toBe(900_000);
    expect(policy.degradedAfterSilence).toBe(900_000);
    const calm = requireConfig(reading).policyFor({ agentId: "a1", agentType: null, taskId: null, policy: "calm" });
    expect(calm.degradedAfterSilence).toBe(800_000);
  });
});
