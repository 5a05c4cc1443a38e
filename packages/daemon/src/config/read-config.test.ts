import { settingsOf } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { describeProblem } from "./config-problem.ts";
import { readConfig, requireConfig } from "./read-config.ts";
import type { ConfigSources } from "./read-sources.ts";

const configFrom = (text: string, more: ConfigSources = {}) =>
  requireConfig(readConfig({ file: { name: "config.yaml", text }, ...more }));

function problemsIn(text: string, more: ConfigSources = {}): string[] {
  const reading = readConfig({ file: { name: "config.yaml", text }, ...more });
  return reading.ok ? [] : reading.problems.map(describeProblem);
}

const someAgent = { agentId: "worker-1", agentType: null, taskId: null };

const requirementsExample = `
# coditect-config.yaml
health_monitoring:
  enabled: true
  heartbeat:
    interval_seconds: 300 # 5 minutes
    timeout_seconds: 600 # 10 minutes (2x interval)
  health_check:
    interval_seconds: 60 # 1 minute
    checkpoint_stale_threshold_seconds: 1800 # 30 minutes
  intervention:
    nudge:
      enabled: true
      max_attempts: 3
      interval_seconds: 600 # 10 minutes between nudges
    escalation:
      timeout_seconds: 900 # 15 minutes
    termination:
      cleanup_timeout_seconds: 30
  circuit_breaker:
    default:
      failure_threshold: 3
      recovery_timeout_seconds: 60
      half_open_requests: 1
    overrides:
      tool_execution:
        failure_threshold: 5
        recovery_timeout_seconds: 30
      checkpoint_write:
        failure_threshold: 3
        recovery_timeout_seconds: 120
  recovery:
    max_attempts_per_task: 3
    max_attempts_per_hour: 5
    backoff_seconds: [60, 120, 240] # Exponential backoff
  alerting:
    stuck_agent:
      channels: ["slack", "pagerduty"]
      severity: "warning"
    circuit_breaker_open:
      channels: ["slack"]
      severity: "warning"
    recovery_failed:
      channels: ["slack", "pagerduty"]
      severity: "critical"
`;

describe("what a configuration says", () => {
  it("is the default preset when nothing is given at all", () => {
    const config = requireConfig(readConfig({}));
    expect(config.preset).toBe("default");
    expect(config.settings).toEqual(settingsOf("default"));
    expect(config.sources).toEqual(["preset default"]);
  });

  it.each([
    "",
    "\n",
    "# nothing here yet\n",
    "---\n",
    "health_monitoring:\n",
    "agents:\nhealth_monitoring:\n  heartbeat:\n",
  ])("is the default preset when the file says %j", (text) =>
    expect(configFrom(text).settings).toEqual(settingsOf("default")),
  );

  it("takes the example of the requirements as it stands, and finds in it what default is anyway", () => {
    const { settings } = configFrom(requirementsExample);
    const { heartbeat, ...rest } = settings;
    const { heartbeat: defaultHeartbeat, ...defaultRest } = settingsOf("default");
    expect(rest).toEqual(defaultRest);
    expect(heartbeat).toEqual({ ...defaultHeartbeat, timeout_seconds: 600 });
  });

  it("changes what the file names and leaves the rest to the preset", () => {
    const { settings } = configFrom("preset: fleet\nhealth_monitoring: { heartbeat: { interval_seconds: 2 } }");
    expect(settings.heartbeat).toMatchObject({ interval_seconds: 2, idle_interval_seconds: 10 });
  });

  it("replaces lists whole, but adds to named groups", () => {
    const { settings } = configFrom(`
health_monitoring:
  recovery: { backoff_seconds: [5] }
  alerting: { quota: { channels: [ops], severity: info } }
`);
    expect(settings.recovery.backoff_seconds).toEqual([5]);
    expect(Object.keys(settings.alerting)).toEqual(["stuck_agent", "circuit_breaker_open", "recovery_failed", "quota"]);
  });

  it("cannot be changed afterwards, however deep", () => {
    const config = configFrom("agents: { a: { heartbeat: { interval_seconds: 1 } } }");
    for (const part of [
      config,
      config.settings,
      config.settings.heartbeat,
      config.settings.recovery.backoff_seconds,
      config.overrides.agents.a?.heartbeat,
      config.sources,
      config.selfCheck,
      config.retention,
      config.policyFor(someAgent),
    ]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });

  it("lets YAML anchors save typing, for as many agents as share one", () => {
    const agents = Array.from({ length: 500 }, (_, i) => `  a${i}: *quick`).join("\n");
    const config = configFrom(
      `agent_types: { fast: &quick { heartbeat: { interval_seconds: 1 } } }\nagents:\n${agents}`,
    );
    expect(config.policyFor({ ...someAgent, agentId: "a499" }).beatInterval).toBe(1000);
  });
});

describe("the presets", () => {
  it("default beats every 5 min, is DEGRADED after 10 min of silence and STUCK after 30 min without progress", () => {
    const policy = configFrom("preset: default").policyFor(someAgent);
    expect(policy.beatInterval).toBe(300_000);
    expect(policy.degradedAfterSilence ?? 2 * policy.beatInterval).toBe(600_000);
    expect(policy.staleDegraded).toBe(600_000);
    expect(policy.staleStuck).toBe(1_800_000);
  });

  it("fleet beats every 5 s at work and every 10 s idle", () => {
    const policy = configFrom("preset: fleet").policyFor(someAgent);
    expect([policy.beatInterval, policy.idleBeatInterval]).toEqual([5000, 10_000]);
  });

  it("tasks looks every 5 min, and calls 30 min stalled, 120 min long and 15 min silent", () => {
    const config = configFrom("preset: tasks");
    expect(config.settings.tasks).toMatchObject({
      interval_minutes: 5,
      task_stalled_after_minutes: 30,
      task_long_running_after_minutes: 120,
      agent_silent_after_minutes: 15,
    });
    expect(3 * config.policyFor(someAgent).beatInterval).toBe(15 * 60_000);
  });
});

describe("a bad configuration", () => {
  it("with five mistakes is told of all five, each with its place", () => {
    const text = `preset: flet
health_monitoring:
  heartbeat:
    interval_secs: 60
    grace_seconds: 2m
  health_check:
    error_rate_threshold: 25
  recovery: 3
`;
    expect(problemsIn(text)).toEqual([
      'config.yaml:1:9 preset: found "flet", expected default, fleet or tasks; did you mean fleet?',
      "config.yaml:4:5 health_monitoring.heartbeat.interval_secs: unknown key; did you mean interval_seconds?",
      'config.yaml:5:20 health_monitoring.heartbeat.grace_seconds: found "2m", expected a number from 0 to 3600; did you mean 120?',
      "config.yaml:7:27 health_monitoring.health_check.error_rate_threshold: found 25, expected a number from 0 to 1",
      "config.yaml:8:13 health_monitoring.recovery: found 3, expected a group of settings",
    ]);
  });

  it("is told of the mistakes in all sources together", () => {
    const more = {
      botbox: { name: ".botbox.json", text: '{ "agents": { "health": { "idle_timeout": 15 } } }' },
      environment: { ACK_SLA: "soon" },
    };
    expect(problemsIn("presets: fleet", more)).toEqual([
      "config.yaml:1:1 presets: unknown key; did you mean preset?",
      ".botbox.json:1:27 agents.health.idle_timeout: unknown key; did you mean idle_timeout_minutes?",
      'environment ACK_SLA: found "soon", expected a duration such as 60s, 5m or 1h, or a number of seconds',
    ]);
  });

  it("stops a caller that cannot do without, with every problem in the message", () => {
    const reading = readConfig({ file: { name: "c.yaml", text: "a: 1\nb: 2" } });
    expect(() => requireConfig(reading)).toThrow("c.yaml:1:1 a: unknown key\nc.yaml:2:1 b: unknown key");
  });
});

describe("the order of the sources", () => {
  const botbox = {
    name: ".botbox.json",
    text: '{ "agents": { "health": { "alert_channel": "from-botbox", "enabled": false } } }',
  };
  const text =
    "health_monitoring: { enabled: true, terminal: { alert_channel: from-file }, restart: { max_attempts: 7 } }";

  it("lets .botbox.json win over the file, and the environment over both", () => {
    const { settings, sources } = configFrom(text, { botbox, environment: { MAX_RESTART_ATTEMPTS: "9" } });
    expect(settings.terminal.alert_channel).toBe("from-botbox");
    expect(settings.enabled).toBe(false);
    expect(settings.restart.max_attempts).toBe(9);
    expect(sources).toEqual(["preset default", "config.yaml", ".botbox.json", "environment: MAX_RESTART_ATTEMPTS"]);
  });

  it("lets an override win over the environment, because it speaks of one agent only", () => {
    const config = configFrom("agents: { a: { enabled: true } }", { botbox });
    expect(config.policyFor({ ...someAgent, agentId: "a" }).enabled).toBe(true);
    expect(config.policyFor(someAgent).enabled).toBe(false);
  });
});
