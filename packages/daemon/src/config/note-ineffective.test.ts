import { describe, expect, it } from "vitest";
import { describePlace } from "./config-problem.ts";
import { readConfig, requireConfig } from "./read-config.ts";
import type { ConfigSources } from "./read-sources.ts";

const noticesFor = (text: string, more: ConfigSources = {}) =>
  requireConfig(readConfig({ file: { name: "c", text }, ...more })).notices.map(
    (notice) => `${describePlace(notice)}: ${notice.message}`,
  );

describe("what is set but changes nothing", () => {
  it("is said once per section, with its place", () => {
    const text = "health_monitoring:\n  anomaly: { threshold: 0.7, consecutive: 5 }\n  mode: assist\n";
    expect(noticesFor(text)).toEqual(["c:2:3 health_monitoring.anomaly: no effect yet in this version"]);
  });

  it("is said for a single setting of a section that otherwise counts", () => {
    const text = "health_monitoring: { health_check: { interval_seconds: 5, no_tool_call_seconds: 60 } }";
    expect(noticesFor(text)).toEqual([
      "c:1:38 health_monitoring.health_check.interval_seconds: no effect yet in this version",
    ]);
  });

  it("is said for overrides, .botbox.json and the environment too", () => {
    const notices = noticesFor("agents: { a: { anomaly: { threshold: 0.7 } } }", {
      botbox: { name: ".botbox.json", text: '{ "agents": { "health": { "enabled": true, "alert_channel": "x" } } }' },
      environment: { ANOMALY_THRESHOLD: "0.9", ANOMALY_CONSECUTIVE: "2", RESTART_COOLDOWN: "1m" },
    });
    expect(notices).toEqual([
      ".botbox.json:1:44 agents.health.alert_channel: no effect yet in this version",
      "environment ANOMALY_THRESHOLD, ANOMALY_CONSECUTIVE: no effect yet in this version",
      "c:1:16 agents.a.anomaly: no effect yet in this version",
    ]);
  });

  it("is said when one agent is given what only the whole monitor can have", () => {
    const text =
      "agents: { a: { retention: { history_days: 1 }, self_check: { stall_seconds: 9, amnesty_margin_seconds: 9 } } }";
    expect(noticesFor(text)).toEqual([
      "c:1:62 agents.a.self_check.stall_seconds: no effect here: it belongs to the whole monitor, so set it under health_monitoring",
      "c:1:16 agents.a.retention: no effect here: it belongs to the whole monitor, so set it under health_monitoring",
    ]);
  });

  it("is said for a policy as for any other override", () => {
    const text = "policies: { p: { retention: { history_days: 1 }, tasks: { interval_minutes: 1 } } }";
    expect(noticesFor(text)).toEqual([
      "c:1:59 policies.p.tasks.interval_minutes: no effect yet in this version",
      "c:1:18 policies.p.retention: no effect here: it belongs to the whole monitor, so set it under health_monitoring",
    ]);
  });

  it("is nothing when everything counts, or nothing was set", () => {
    expect(
      noticesFor("preset: fleet\nhealth_monitoring: { terminal: {}, heartbeat: { interval_seconds: 1 } }"),
    ).toEqual([]);
  });
});
