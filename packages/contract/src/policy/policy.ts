import { type BreakerRules, recoveryOperation } from "../breakers/breaker.ts";
import { type LoopKind, loopKinds } from "../health-words.ts";
import { type DurationMs, days, hours, minutes, seconds } from "../time.ts";
import type {
  AfterTimeout,
  Contain,
  LimitResume,
  NudgeWhileAttached,
  OnUnanswered,
  PolicyMode,
  Settings,
  ToolClass,
} from "./settings.ts";

export type LoopPolicy = Readonly<
  Record<LoopKind, { readonly enabled: boolean; readonly suspect: number; readonly stuck: number }>
>;

/** The same policy as core reads it: milliseconds, nothing optional, nothing that core does not use. */
export interface Policy {
  /** Name and fingerprint, written into every decision's record. */
  readonly id: string;
  readonly enabled: boolean;
  readonly mode: PolicyMode;
  readonly beatInterval: DurationMs;
  readonly idleBeatInterval: DurationMs;
  readonly degradedAfterSilence: DurationMs | null;
  readonly beatGrace: DurationMs;
  /** The agent itself promised this rhythm (`keepPromise`): the first missed beat is reported. */
  readonly beatsPromised: boolean;
  readonly startupGrace: DurationMs;
  readonly restartOnMissedBeats: boolean;
  readonly staleDegraded: DurationMs;
  readonly staleStuck: DurationMs;
  readonly noToolCall: DurationMs;
  readonly zeroTokens: DurationMs;
  readonly tokenSpikeFactor: number;
  readonly errorRate: number;
  readonly consecutiveFailures: number;
  readonly taskNotStarted: DurationMs;
  readonly memoryPressure: number;
  /** In bytes. */
  readonly memoryLimit: number | null;
  readonly openTool: DurationMs;
  readonly openToolMargin: DurationMs;
  /** `null`: the time-out that the program is known to keep. */
  readonly modelRequest: DurationMs | null;
  readonly waitMargin: DurationMs;
  readonly longestWait: {
    readonly input: DurationMs;
    readonly provider: DurationMs;
    readonly children: DurationMs;
    readonly schedule: DurationMs;
  };
  readonly amnestyMargin: DurationMs;
  readonly terminal: TerminalPolicy;
  readonly loops: LoopPolicy;
  readonly toolClasses: Readonly<Record<string, ToolClass>>;
  /** How long an agent may take to end by itself when it is stopped. */
  readonly stopGrace: DurationMs;
  readonly restart: { readonly cooldown: DurationMs; readonly max: number; readonly window: DurationMs };
  /** Stopped only by a person. */
  readonly protected: boolean;
  readonly nudge: {
    readonly enabled: boolean;
    readonly max: number;
    readonly interval: DurationMs;
    readonly whileAttached: NudgeWhileAttached;
  };
  readonly escalation: {
    readonly timeout: DurationMs;
    readonly unchangedAfter: DurationMs;
    readonly acknowledgeWithin: DurationMs;
    readonly onUnanswered: OnUnanswered;
  };
  /** What follows when a provider's limit is over, for an agent whose process ended at it and for one that lives. */
  readonly limitResume: { readonly afterExit: LimitResume; readonly inTerminal: LimitResume };
  readonly contain: Contain;
  /** How long saving its work may take, and whether it is stopped when that failed. */
  readonly saving: { readonly within: DurationMs; readonly acceptFailure: boolean };
  readonly recovery: {
    readonly maxPerTask: number;
    readonly maxPerHour: number;
    readonly backoff: readonly DurationMs[];
    readonly probation: DurationMs;
    /** By what attempts to bring an agent back are counted: `circuit_breaker` for `recovery_attempt`. */
    readonly breaker: BreakerRules;
  };
  readonly tasks: TaskPolicy;
}

export interface TaskPolicy {
  readonly stalled: DurationMs;
  readonly recheck: DurationMs;
  readonly longRunning: DurationMs;
  /** The share of failures among an agent's last tasks that counts as high. */
  readonly highErrorRate: number;
  readonly afterTimeout: AfterTimeout;
}

export interface TerminalPolicy {
  readonly idle: DurationMs;
  readonly completion: DurationMs;
  readonly rateLimitBackoff: DurationMs;
  readonly repeatedErrors: number;
  readonly repeatedErrorWindow: DurationMs;
  readonly stopOnRepeatedError: boolean;
  readonly stopOnIdle: boolean;
  readonly maxTextWait: DurationMs;
  /** Leftovers are ended when the agent has ended. */
  readonly endLeftovers: boolean;
}

/** How often an agent promised to be heard, and how late that may be. */
export interface BeatPromise {
  readonly every: DurationMs;
  readonly grace: DurationMs;
}

/** The same policy for an agent that promised how often it is heard. One missed beat is reported, and no more. */
export const keepPromise = (policy: Policy, { every, grace }: BeatPromise): Policy =>
  Object.freeze({
    ...policy,
    id: `${policy.id}+every:${every / 1000}s`,
    beatInterval: every,
    idleBeatInterval: every,
    degradedAfterSilence: null,
    beatGrace: grace,
    beatsPromised: true,
    restartOnMissedBeats: false,
  });

/** By what a breaker is run: rules of the operation itself, then of what stands before its first slash, then the default. */
export function breakerRulesFrom(
  { default: usual, overrides }: Settings["circuit_breaker"],
  operation: string,
): BreakerRules {
  const [kind = ""] = operation.split("/");
  const layers = [ownOf(overrides, operation), ownOf(overrides, kind), usual];
  const pick = (name: keyof typeof usual): number =>
    layers.find((layer) => layer?.[name] !== undefined)?.[name] ?? usual[name];
  return {
    failureThreshold: pick("failure_threshold"),
    recoveryTimeout: seconds(pick("recovery_timeout_seconds")),
    halfOpenRequests: pick("half_open_requests"),
  };
}

/** Not what every object inherits: an operation may be called `constructor`. */
const ownOf = <T>(by: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(by, name) ? by[name] : undefined;

export function policyFrom(id: string, settings: Settings): Policy {
  const { heartbeat, health_check: check, activity, self_check: self } = settings;
  return Object.freeze({
    id,
    enabled: settings.enabled,
    mode: settings.mode,
    beatInterval: seconds(heartbeat.interval_seconds),
    idleBeatInterval: seconds(heartbeat.idle_interval_seconds),
    degradedAfterSilence: heartbeat.timeout_seconds === undefined ? null : seconds(heartbeat.timeout_seconds),
    beatGrace: seconds(heartbeat.grace_seconds),
    beatsPromised: false,
    startupGrace: seconds(heartbeat.startup_grace_seconds),
    restartOnMissedBeats: heartbeat.restart_on_missed_beats,
    staleDegraded: seconds(check.checkpoint_degraded_threshold_seconds ?? check.checkpoint_stale_threshold_seconds / 3),
    staleStuck: seconds(check.checkpoint_stale_threshold_seconds),
    noToolCall: seconds(check.no_tool_call_seconds),
    zeroTokens: seconds(check.zero_tokens_seconds),
    tokenSpikeFactor: check.token_spike_factor,
    errorRate: check.error_rate_threshold,
    consecutiveFailures: check.consecutive_failures,
    taskNotStarted: seconds(check.task_not_started_seconds),
    memoryPressure: check.memory_pressure_threshold,
    memoryLimit: check.memory_limit_mb === undefined ? null : check.memory_limit_mb * 1024 * 1024,
    openTool: seconds(activity.open_tool_seconds),
    openToolMargin: seconds(activity.open_tool_margin_seconds),
    modelRequest: activity.model_request_seconds === undefined ? null : seconds(activity.model_request_seconds),
    waitMargin: seconds(activity.wait_margin_seconds),
    longestWait: Object.freeze({
      input: seconds(activity.input_wait_seconds),
      provider: seconds(activity.provider_wait_seconds),
      children: seconds(activity.children_wait_seconds),
      schedule: seconds(activity.schedule_wait_seconds),
    }),
    amnestyMargin: seconds(self.amnesty_margin_seconds),
    terminal: terminalPolicyFrom(settings.terminal),
    loops: loopPolicyFrom(settings.loops),
    toolClasses: Object.freeze({ ...settings.loops.tool_classes }),
    stopGrace: seconds(settings.intervention.termination.grace_seconds),
    restart: Object.freeze({
      cooldown: seconds(settings.restart.cooldown_seconds),
      max: settings.restart.max_attempts,
      window: seconds(settings.restart.escalation_window_seconds),
    }),
    protected: settings.protected,
    ...ladderPolicyFrom(settings),
    tasks: Object.freeze({
      stalled: minutes(settings.tasks.task_stalled_after_minutes),
      recheck: minutes(settings.tasks.stalled_recheck_minutes),
      longRunning: minutes(settings.tasks.task_long_running_after_minutes),
      highErrorRate: settings.tasks.agent_high_error_rate,
      afterTimeout: settings.tasks.on_timeout,
    }),
  });
}

function ladderPolicyFrom({ intervention, escalation, recovery, circuit_breaker: breakers }: Settings) {
  return {
    nudge: Object.freeze({
      enabled: intervention.nudge.enabled,
      max: intervention.nudge.max_attempts,
      interval: seconds(intervention.nudge.interval_seconds),
      whileAttached: intervention.nudge.while_attached,
    }),
    escalation: Object.freeze({
      timeout: seconds(intervention.escalation.timeout_seconds),
      unchangedAfter: seconds(intervention.escalation.unchanged_after_seconds),
      acknowledgeWithin: seconds(escalation.ack_sla_seconds),
      onUnanswered: intervention.escalation.on_unanswered,
    }),
    limitResume: Object.freeze({
      afterExit: intervention.limit_resume.after_exit,
      inTerminal: intervention.limit_resume.in_terminal,
    }),
    contain: intervention.contain,
    saving: Object.freeze({
      within: seconds(intervention.termination.cleanup_timeout_seconds),
      acceptFailure: intervention.termination.accept_failed_snapshot,
    }),
    recovery: Object.freeze({
      maxPerTask: recovery.max_attempts_per_task,
      maxPerHour: recovery.max_attempts_per_hour,
      backoff: Object.freeze(recovery.backoff_seconds.map(seconds)),
      probation: seconds(recovery.probation_seconds),
      breaker: Object.freeze(breakerRulesFrom(breakers, recoveryOperation)),
    }),
  };
}

function loopPolicyFrom(loops: Settings["loops"]): LoopPolicy {
  const named = (kind: LoopKind) =>
    loops[kind.replaceAll("-", "_") as Exclude<keyof Settings["loops"], "tool_classes" | "keep_text">];
  return Object.freeze(
    Object.fromEntries(loopKinds.map((kind) => [kind, Object.freeze({ ...named(kind) })])) as Record<
      LoopKind,
      LoopPolicy[LoopKind]
    >,
  );
}

function terminalPolicyFrom(terminal: Settings["terminal"]): TerminalPolicy {
  return Object.freeze({
    idle: minutes(terminal.idle_timeout_minutes),
    completion: minutes(terminal.completion_timeout_minutes),
    rateLimitBackoff: seconds(terminal.rate_limit_backoff_seconds),
    repeatedErrors: terminal.repeated_error_threshold,
    repeatedErrorWindow: minutes(terminal.repeated_error_window_minutes),
    stopOnRepeatedError: terminal.auto_kill_on_repeated_error,
    stopOnIdle: terminal.auto_kill_on_idle,
    maxTextWait: seconds(terminal.max_text_wait_seconds),
    endLeftovers: terminal.on_leftovers === "end",
  });
}

/** How the monitor watches itself: one setting for the whole process, never per agent. */
export interface SelfCheckPolicy {
  readonly stall: DurationMs;
  readonly massSilenceAgents: number;
  readonly massSilenceShare: number;
  readonly massSilenceWindow: DurationMs;
}

export function selfCheckFrom(settings: Settings): SelfCheckPolicy {
  const self = settings.self_check;
  return Object.freeze({
    stall: seconds(self.stall_seconds),
    massSilenceAgents: self.mass_silence_agents,
    massSilenceShare: self.mass_silence_share,
    massSilenceWindow: seconds(self.mass_silence_window_seconds),
  });
}

export interface RetentionPolicy {
  readonly beats: DurationMs;
  readonly history: DurationMs;
}

export function retentionFrom(settings: Settings): RetentionPolicy {
  return Object.freeze({
    beats: hours(settings.retention.heartbeats_hours),
    history: days(settings.retention.history_days),
  });
}

/** How many agents may be stopped: one setting for the whole process. */
export interface KillBudget {
  readonly hostInterval: DurationMs;
  readonly hostBurst: number;
  readonly fleetKills: number;
  readonly fleetWindow: DurationMs;
}

export function killBudgetFrom({ budgets }: Settings): KillBudget {
  return Object.freeze({
    hostInterval: seconds(budgets.host_interval_seconds),
    hostBurst: budgets.host_burst,
    fleetKills: budgets.fleet_kills,
    fleetWindow: seconds(budgets.fleet_window_seconds),
  });
}
