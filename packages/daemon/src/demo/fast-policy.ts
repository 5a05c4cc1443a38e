/**
 * The shipped `fleet` preset in fast motion: what takes minutes in earnest takes seconds here. Whoever writes a policy is the owner of its agents, and
 * `restart_on_missed_beats` is a rule of theirs: silence alone stops nobody without one.
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
