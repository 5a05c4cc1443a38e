export type Environment = Readonly<Record<string, string | undefined>>;

export interface Variable {
  readonly name: string;
  readonly setting: readonly [string, string];
  readonly kind: "duration" | "number" | "flag";
}

const variables: readonly Variable[] = [
  { name: "RESTART_COOLDOWN", setting: ["restart", "cooldown_seconds"], kind: "duration" },
  { name: "MAX_RESTART_ATTEMPTS", setting: ["restart", "max_attempts"], kind: "number" },
  { name: "ESCALATION_WINDOW", setting: ["restart", "escalation_window_seconds"], kind: "duration" },
  { name: "ANOMALY_THRESHOLD", setting: ["anomaly", "threshold"], kind: "number" },
  { name: "ANOMALY_CONSECUTIVE", setting: ["anomaly", "consecutive"], kind: "number" },
  { name: "ACK_SLA", setting: ["escalation", "ack_sla_seconds"], kind: "duration" },
  { name: "DIAG_ON_ANOMALY", setting: ["anomaly", "diagnose_on_anomaly"], kind: "flag" },
  { name: "DIAG_ON_RESTART_ESCALATION", setting: ["anomaly", "diagnose_on_restart_escalation"], kind: "flag" },
];

/** An empty variable counts as not set: shells and compose files leave one out that way. */
export const givenIn = (environment: Environment): readonly Variable[] =>
  variables.filter(({ name }) => (environment[name] ?? "").trim() !== "");
