import { describe, expect, it } from "vitest";
import { describeProblem } from "./config-problem.ts";
import { type Config, readConfig, requireConfig } from "./read-config.ts";
import type { Environment } from "./variables.ts";

const configFrom = (environment: Environment): Config => requireConfig(readConfig({ environment }));

function problemsIn(environment: Environment): string[] {
  const reading = readConfig({ environment });
  return reading.ok ? [] : reading.problems.map(describeProblem);
}

describe("the environment", () => {
  it("is understood under the names of the fault-tolerance requirements", () => {
    const { settings } = configFrom({
      RESTART_COOLDOWN: "90s",
      MAX_RESTART_ATTEMPTS: "4",
      ESCALATION_WINDOW: "2h",
      ANOMALY_THRESHOLD: "0.9",
      ANOMALY_CONSECUTIVE: "5",
      ACK_SLA: "10m",
      DIAG_ON_ANOMALY: "false",
      DIAG_ON_RESTART_ESCALATION: "0",
    });
    expect(settings.restart).toEqual({ cooldown_seconds: 90, max_attempts: 4, escalation_window_seconds: 7200 });
    expect(settings.anomaly).toEqual({
      threshold: 0.9,
      consecutive: 5,
      diagnose_on_anomaly: false,
      diagnose_on_restart_escalation: false,
    });
    expect(settings.escalation.ack_sla_seconds).toBe(600);
  });

  it("may give plain seconds, and TRUE in capitals", () => {
    const { settings } = configFrom({ RESTART_COOLDOWN: "45", DIAG_ON_ANOMALY: "TRUE" });
    expect(settings.restart.cooldown_seconds).toBe(45);
    expect(settings.anomaly.diagnose_on_anomaly).toBe(true);
  });

  it("with an empty variable is the environment without it", () => {
    const config = configFrom({ RESTART_COOLDOWN: "", ACK_SLA: " ", PATH: "/bin" });
    expect(config.settings.restart.cooldown_seconds).toBe(60);
    expect(config.sources).toEqual(["preset default"]);
  });

  it("is told of all its mistakes by the names of the variables", () => {
    const environment = {
      RESTART_COOLDOWN: "a minute",
      MAX_RESTART_ATTEMPTS: "-1",
      ANOMALY_THRESHOLD: "80%",
      ANOMALY_CONSECUTIVE: "2.5",
      DIAG_ON_ANOMALY: "maybe",
    };
    expect(problemsIn(environment).toSorted()).toEqual([
      "environment ANOMALY_CONSECUTIVE: found 2.5, expected a whole number above 0, at most 1000000",
      'environment ANOMALY_THRESHOLD: found "80%", expected a number',
      'environment DIAG_ON_ANOMALY: found "maybe", expected true or false (1 and 0 work too)',
      "environment MAX_RESTART_ATTEMPTS: found -1, expected a whole number above 0, at most 1000000",
      'environment RESTART_COOLDOWN: found "a minute", expected a duration such as 60s, 5m or 1h, or a number of seconds',
    ]);
  });
});
