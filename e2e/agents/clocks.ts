import type { Scenario } from "./scenarios.ts";

/** Minutes become seconds where a scenario is about waiting; what is quick anyway is judged by the clocks that ship. */
export function clocksOf(scenario: Scenario): string {
  const short = patient.includes(scenario) ? idle : "";
  // Nobody is nudged or stopped: after five seconds without an answer it is a person's matter.
  const handsOver = scenario === "contain";
  return `health_monitoring:
  activity: { wait_margin_seconds: 5${scenario === "hang" ? ", model_request_seconds: 15" : ""} }
  terminal: { rate_limit_backoff_seconds: 5${short} }
  restart: { cooldown_seconds: 2 }${handsOver ? "\n  mode: assist" : ""}
  intervention:
    nudge: { interval_seconds: 20${handsOver ? ", enabled: false" : ""} }${handsOver ? "\n    escalation: { timeout_seconds: 5 }" : ""}
    termination: { grace_seconds: 3 }
`;
}

/** Longer than a quarter of a minute passes in these without anything new, and somebody impatient would act. */
const patient: readonly Scenario[] = ["hang", "slow", "tool", "background", "rate", "overload", "limit", "quota"];
const idle = ", idle_timeout_minutes: 0.25, completion_timeout_minutes: 0.25";
