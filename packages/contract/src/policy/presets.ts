import type { PartialSettings, Settings } from "./settings.ts";

/** For coding agents: beats every five minutes, patience in tens of minutes. The other presets say what they change. */
const defaults: Settings = {
  enabled: true,
  mode: "act",
  protected: false,
  fleet_read: "own-node",
  heartbeat: {
    interval_seconds: 300,
    idle_interval_seconds: 300,
    grace_seconds: 2,
    startup_grace_seconds: 600,
    restart_on_missed_beats: false,
  },
  health_check: {
    interval_seconds: 60,
    checkpoint_stale_threshold_seconds: 1800,
    no_tool_call_seconds: 900,
    zero_tokens_seconds: 900,
    token_spike_factor: 5,
    error_rate_threshold: 0.25,
    consecutive_failures: 3,
    task_not_started_seconds: 600,
    memory_pressure_threshold: 0.9,
  },
  activity: {
    open_tool_seconds: 600,
    open_tool_margin_seconds: 60,
    wait_margin_seconds: 60,
    input_wait_seconds: 86_400,
    provider_wait_seconds: 3600,
    children_wait_seconds: 5400,
    schedule_wait_seconds: 3600,
  },
  self_check: {
    stall_seconds: 2,
    amnesty_margin_seconds: 2,
    mass_silence_agents: 3,
    mass_silence_share: 0.3,
    mass_silence_window_seconds: 60,
  },
  retention: { heartbeats_hours: 24, history_days: 30 },
  intervention: {
    nudge: { enabled: true, max_attempts: 3, interval_seconds: 600, while_attached: "never" },
    escalation: { timeout_seconds: 900, unchanged_after_seconds: 3600, on_unanswered: "terminate" },
    limit_resume: { after_exit: "auto", in_terminal: "ask" },
    contain: "pause",
    termination: { grace_seconds: 10, cleanup_timeout_seconds: 30, accept_failed_snapshot: false },
  },
  circuit_breaker: {
    default: { failure_threshold: 3, recovery_timeout_seconds: 60, half_open_requests: 1 },
    overrides: {
      tool_execution: { failure_threshold: 5, recovery_timeout_seconds: 30 },
      checkpoint_write: { failure_threshold: 3, recovery_timeout_seconds: 120 },
    },
  },
  recovery: {
    max_attempts_per_task: 3,
    max_attempts_per_hour: 5,
    backoff_seconds: [60, 120, 240],
    probation_seconds: 900,
  },
  restart: { cooldown_seconds: 60, max_attempts: 3, escalation_window_seconds: 3600 },
  anomaly: { threshold: 0.8, consecutive: 3, diagnose_on_anomaly: true, diagnose_on_restart_escalation: true },
  escalation: { ack_sla_seconds: 300, allow_private_webhook: false },
  audit: { anchor: ["file:audit-seals.jsonl"] },
  budgets: { host_interval_seconds: 10, host_burst: 2, fleet_kills: 6, fleet_window_seconds: 600 },
  loops: {
    identical_step: { enabled: true, suspect: 3, stuck: 5 },
    identical_call: { enabled: true, suspect: 4, stuck: 6 },
    identical_change: { enabled: true, suspect: 3, stuck: 5 },
    cycle: { enabled: true, suspect: 3, stuck: 4 },
    error_class: { enabled: true, suspect: 3, stuck: 6 },
    error_streak: { enabled: true, suspect: 5, stuck: 9 },
    blocked_call: { enabled: true, suspect: 4, stuck: 6 },
    replies_only: { enabled: true, suspect: 4, stuck: 7 },
    same_words: { enabled: true, suspect: 3, stuck: 5 },
    no_novelty: { enabled: true, suspect: 12, stuck: 20 },
    stale_results: { enabled: true, suspect: 7, stuck: 10 },
    tool_classes: {},
    keep_text: false,
  },
  terminal: {
    idle_timeout_minutes: 15,
    completion_timeout_minutes: 10,
    rate_limit_backoff_seconds: 60,
    repeated_error_threshold: 5,
    repeated_error_window_minutes: 10,
    auto_kill_on_idle: false,
    max_text_wait_seconds: 21_600,
    auto_kill_on_repeated_error: false,
    on_leftovers: "tell",
    alert_channel: "ops",
    completion_marker: "<promise>COMPLETE</promise>",
    output_kept_mb: 8,
    patterns: [],
  },
  tasks: {
    interval_minutes: 5,
    task_stalled_after_minutes: 30,
    task_long_running_after_minutes: 120,
    agent_silent_after_minutes: 15,
    agent_high_error_rate: 0.3,
    stalled_recheck_minutes: 10,
    on_timeout: "nudge",
    check_calendar: false,
    check_email: false,
    calendar_provider: "google",
  },
  alerting: {
    stuck_agent: { channels: ["slack", "pagerduty"], severity: "warning" },
    circuit_breaker_open: { channels: ["slack"], severity: "warning" },
    recovery_failed: { channels: ["slack", "pagerduty"], severity: "critical" },
  },
};

/** Fast workers: a beat every 5 s at work and 10 s idle, by a timer; three missed beats are a TTL (15 s, 30 s). */
const fleet: PartialSettings = {
  heartbeat: {
    interval_seconds: 5,
    idle_interval_seconds: 10,
    grace_seconds: 2,
    startup_grace_seconds: 60,
    restart_on_missed_beats: true,
  },
};

/** Long task queues: a look every 5 min, silent for 15 min is three missed beats. */
const tasks: PartialSettings = {
  heartbeat: { interval_seconds: 300, idle_interval_seconds: 300, startup_grace_seconds: 900 },
};

export const presetNames = ["default", "fleet", "tasks"] as const;
export type PresetName = (typeof presetNames)[number];

/** What `default` is, and what each preset changes of it. */
export const presets: Readonly<Record<PresetName, PartialSettings>> = { default: {}, fleet, tasks };

/** Lays one set of settings over another: objects merge, everything else (lists too) replaces. */
export function overlay<T>(base: T, over: unknown): T {
  if (!isPlainObject(base) || !isPlainObject(over)) return (over === undefined ? base : over) as T;
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) if (key !== "__proto__") merged[key] = overlay(merged[key], value);
  return merged as T;
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const settingsOf = (preset: PresetName): Settings => overlay(defaults, presets[preset]);
