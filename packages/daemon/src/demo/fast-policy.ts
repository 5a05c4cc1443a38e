/**
 * The shipped `fleet` preset with seconds instead of minutes. `restart_on_missed_beats` is a rule of the owner: without
 * it silence alone stops nobody.
 */
export const fastPolicy = `preset: fleet
health_monitoring:
  heartbeat:
    { interval_seconds: 1, idle_interval_seconds: 1, grace_seconds: 1, startup_grace_seconds: 30, restart_on_missed_beats: true }
  terminal: { idle_timeout_minutes: 0.1 }
  intervention:
    nudge: { max_attempts: 2, interval_seconds: 6 }
    escalation: { timeout_seconds: 30 }
    termination: { grace_seconds: 2 }
  restart: { cooldown_seconds: 2 }
  recovery: { backoff_seconds: [1, 2, 4], probation_seconds: 10 }
`;
