import { z } from "zod";
import { ContainmentMeans } from "../holder.ts";
import { UserPattern } from "../terminal.ts";

/** observe: findings only. assist: also alerts, nudges, escalations. act: also terminates and recovers. */
export const PolicyMode = z.enum(["observe", "assist", "act"]);
export type PolicyMode = z.infer<typeof PolicyMode>;

/** What becomes of the leftovers of an agent that has ended. */
export const OnLeftovers = z.enum(["tell", "end"]);

/** What follows when a question about an agent is not answered. */
export const OnUnanswered = z.enum(["keep", "terminate"]);
export type OnUnanswered = z.infer<typeof OnUnanswered>;

/** What follows when a provider's limit is over. */
export const LimitResume = z.enum(["auto", "ask", "off"]);
export type LimitResume = z.infer<typeof LimitResume>;

/** Which agents an agent may read about, besides itself. */
export const FleetRead = z.enum(["own-node", "all", "none"]);
export type FleetRead = z.infer<typeof FleetRead>;

/** What becomes of an agent that goes on with a task that exceeded its timeout. */
export const AfterTimeout = z.enum(["nudge", "stop", "none"]);
export type AfterTimeout = z.infer<typeof AfterTimeout>;

/** What is done about an agent that goes on in circles although a person was called. */
export const Contain = z.enum(["none", ...ContainmentMeans.options]);
export type Contain = z.infer<typeof Contain>;

/** Whether a nudge is typed into a terminal that a person has open. */
export const NudgeWhileAttached = z.enum(["never", "when-idle"]);
export type NudgeWhileAttached = z.infer<typeof NudgeWhileAttached>;

const secondsSetting = (what: string) => z.number().positive().max(2_592_000).describe(what);
const minutesSetting = (what: string) => z.number().positive().max(43_200).describe(what);
const share = (what: string) => z.number().min(0).max(1).describe(what);
const count = (what: string) => z.number().int().positive().max(1_000_000).describe(what);
const flag = (what: string) => z.boolean().describe(what);
const channels = z.array(z.string().max(100)).max(20).describe("where the alert goes");
const severity = z.enum(["critical", "warning", "info"]).describe("how loud the alert is");

const breakerRule = z.strictObject({
  failure_threshold: count("consecutive failures that trip the breaker"),
  recovery_timeout_seconds: secondsSetting("time in OPEN before HALF_OPEN"),
  half_open_requests: count("trials admitted in HALF_OPEN"),
});

/** What breakers are run by: those that Rouse runs, and those inside agents that ask for it. */
export const BreakerSettings = z
  .strictObject({ default: breakerRule, overrides: z.record(z.string().max(100), breakerRule.partial()) })
  .meta({ id: "BreakerSettings" });
export type BreakerSettings = z.infer<typeof BreakerSettings>;

/** What a tool does to the world. It decides what a repetition of it means. */
export const toolClasses = ["changes", "reads", "pages", "polls", "bookkeeping", "other"] as const;
export type ToolClass = (typeof toolClasses)[number];

const loopSettings = z.strictObject({
  enabled: flag("false: this detector is off"),
  suspect: count("repetitions that are worth a note"),
  stuck: count("repetitions that make an agent STUCK"),
});

const alertRoute = z.strictObject({ channels, severity });

/** Everything under `health_monitoring:`, complete. A user's file names only what differs from its preset. */
export const Settings = z.strictObject({
  enabled: flag("false: take signals and keep them, judge nobody"),
  mode: PolicyMode.describe("observe: findings only; assist: also alert and nudge; act: also stop and recover"),
  protected: flag("true: never stopped by Rouse itself; a person still can"),
  fleet_read: FleetRead.describe(
    "of whom an agent may read health with its own token, besides itself: own-node: those of this machine; all; none. It never writes for others",
  ),
  heartbeat: z.strictObject({
    interval_seconds: secondsSetting("how often a working agent beats"),
    idle_interval_seconds: secondsSetting("how often an idle agent beats"),
    timeout_seconds: secondsSetting("silence after which an agent is DEGRADED; two beats when not set").optional(),
    grace_seconds: z.number().min(0).max(3600).describe("how late a beat may be before it counts as missed"),
    startup_grace_seconds: secondsSetting("how long a new incarnation may take to be heard"),
    restart_on_missed_beats: flag(
      "true: an agent that has shown that it beats by a timer is stopped and started again for missed beats alone",
    ),
  }),
  health_check: z.strictObject({
    interval_seconds: secondsSetting("how often a poller would look; Rouse looks when a verdict can change"),
    checkpoint_degraded_threshold_seconds: secondsSetting(
      "work without a new fact that makes an agent DEGRADED; a third of the stale threshold when not set",
    ).optional(),
    checkpoint_stale_threshold_seconds: secondsSetting("work without a new fact that makes an agent STUCK"),
    no_tool_call_seconds: secondsSetting("work without a tool call before it is a finding"),
    zero_tokens_seconds: secondsSetting("work without a token spent before it is a finding"),
    token_spike_factor: z.number().min(1.5).max(1000).describe("how many times its usual token rate is a spike"),
    error_rate_threshold: share("share of failed calls that makes an agent DEGRADED"),
    consecutive_failures: count("more failures than this in a row make an agent FAILING"),
    task_not_started_seconds: secondsSetting("how long assigned work may lie before it is a finding"),
    memory_pressure_threshold: share("share of its memory limit worth a note"),
    memory_limit_mb: count("memory of all its processes together that is too much; no limit when not set").optional(),
  }),
  activity: z.strictObject({
    open_tool_seconds: secondsSetting("least time an open tool suspends the progress clock"),
    open_tool_margin_seconds: secondsSetting("added to a tool's declared timeout"),
    model_request_seconds: secondsSetting(
      "how long a model request may stay open without a byte before it is overdue; what its program is known to keep when not set",
    ).optional(),
    wait_margin_seconds: secondsSetting("added to an advertised reset or a declared end of waiting"),
    input_wait_seconds: secondsSetting("longest wait for a person before the progress clock runs again"),
    provider_wait_seconds: secondsSetting("longest wait for a provider that advertised no reset"),
    children_wait_seconds: secondsSetting("longest wait for sub-agents"),
    schedule_wait_seconds: secondsSetting("longest wait for a schedule that named no time"),
  }),
  self_check: z.strictObject({
    stall_seconds: secondsSetting("a pause of our own longer than this is a gap"),
    amnesty_margin_seconds: z.number().min(0).max(3600).describe("added to one TTL after a gap"),
    mass_silence_agents: count("silent agents that may be a fleet incident"),
    mass_silence_share: share("and the share of the fleet, or of one node, they must be"),
    mass_silence_window_seconds: secondsSetting("within which they went silent"),
  }),
  retention: z.strictObject({
    heartbeats_hours: z
      .number()
      .positive()
      .max(8760)
      .describe("how long single beats are kept before they are rolled up"),
    history_days: z.number().positive().max(3650).describe("how long events and hourly history are kept"),
  }),
  intervention: z.strictObject({
    nudge: z.strictObject({
      enabled: flag("false: escalate without a nudge first"),
      max_attempts: count("nudges before it is escalated"),
      interval_seconds: secondsSetting("time between two nudges"),
      while_attached: NudgeWhileAttached.describe(
        "typing where a person has the terminal open. never; when-idle: when no key was pressed for a minute and the input is empty",
      ),
    }),
    escalation: z.strictObject({
      timeout_seconds: secondsSetting("how long the orchestrator may take to answer"),
      unchanged_after_seconds: secondsSetting("a warning that stood this long without any change is escalated"),
      on_unanswered: OnUnanswered.describe(
        "terminate: stop it if the kill gate has its evidence, and never for absence alone; keep: never without an answer",
      ),
    }),
    limit_resume: z.strictObject({
      after_exit: LimitResume.describe(
        "an agent whose process ended at its provider's limit, once that is over: auto starts it again with its conversation, ask asks first, off leaves it to a person",
      ),
      in_terminal: LimitResume.describe(
        "one that stands at its prompt then: ask tells a person, auto tells the agent to go on, off does neither",
      ),
    }),
    contain: Contain.describe(
      "an agent that goes on in circles after it was handed to a person: pause withholds its tools by its hooks, interrupt breaks its turn off once, none leaves it alone",
    ),
    termination: z.strictObject({
      grace_seconds: secondsSetting("how long an agent may take to end by itself before it is forced"),
      cleanup_timeout_seconds: secondsSetting("how long saving the work and cleaning up may take"),
      accept_failed_snapshot: flag("true: stop it also when its working tree could not be saved"),
    }),
  }),
  circuit_breaker: BreakerSettings,
  recovery: z.strictObject({
    max_attempts_per_task: count("recoveries of one task before a person is asked"),
    max_attempts_per_hour: count("recoveries in a rolling hour before a person is asked"),
    backoff_seconds: z.array(secondsSetting("one wait")).min(1).max(20).describe("waits between attempts, with jitter"),
    probation_seconds: secondsSetting("how long a replacement is watched closely; a relapse goes to a person"),
  }),
  restart: z.strictObject({
    cooldown_seconds: secondsSetting("rest of a lineage after a restart (RESTART_COOLDOWN)"),
    max_attempts: count("restarts per window before it is escalated (MAX_RESTART_ATTEMPTS)"),
    escalation_window_seconds: secondsSetting("the rolling window they are counted in (ESCALATION_WINDOW)"),
  }),
  anomaly: z.strictObject({
    threshold: share("score from which a reading is anomalous (ANOMALY_THRESHOLD)"),
    consecutive: count("anomalous readings in a row before quarantine (ANOMALY_CONSECUTIVE)"),
    diagnose_on_anomaly: flag("start a diagnosis when anomalies persist (DIAG_ON_ANOMALY)"),
    diagnose_on_restart_escalation: flag("start a diagnosis when restarts run out (DIAG_ON_RESTART_ESCALATION)"),
  }),
  escalation: z.strictObject({
    ack_sla_seconds: secondsSetting("how long a person may take to acknowledge SEV-1 (ACK_SLA)"),
    webhook_url: z
      .url({ protocol: /^https?$/ })
      .max(2000)
      .optional()
      .describe("where escalations are sent, signed; the key lies in the data folder"),
    allow_private_webhook: flag(
      "http:// to private networks (10.x, 172.16.x, 192.168.x, fc00::) is good enough for webhook_url",
    ),
  }),
  audit: z.strictObject({
    anchor: z
      .array(z.string().min(1).max(4096))
      .max(10)
      .describe(
        "where seals of the audit trail are kept besides the database: file:PATH, git:REPOSITORY#REF, webhook:https://…",
      ),
  }),
  budgets: z.strictObject({
    host_interval_seconds: secondsSetting("one agent of a host is stopped this often"),
    host_burst: count("and so many at once"),
    fleet_kills: count("agents stopped in the window before the brake"),
    fleet_window_seconds: secondsSetting("the rolling window they are counted in"),
  }),
  loops: z.strictObject({
    identical_step: loopSettings.describe("the same call with the same result and no edit seen in between"),
    identical_call: loopSettings.describe("the same call in a row, whatever comes back"),
    identical_change: loopSettings.describe("the very same change applied again"),
    cycle: loopSettings.describe("rounds of the same two to eight steps"),
    error_class: loopSettings.describe("the same class of error in a row, whatever was tried"),
    error_streak: loopSettings.describe("failures in a row, of whatever kind"),
    blocked_call: loopSettings.describe("the same call failing the same way, whatever was changed in between"),
    replies_only: loopSettings.describe("replies in a row that call no tool"),
    same_words: loopSettings.describe("the same message again, with nothing new done in between"),
    no_novelty: loopSettings.describe("steps in a row of which neither call nor result is new"),
    stale_results: loopSettings.describe("reads and failures among the last 20 steps whose result had come before"),
    tool_classes: z
      .record(z.string().max(200), z.enum(toolClasses).describe("what a tool of this name does"))
      .describe("what tools of your own do, by name: changes, reads, pages, polls or bookkeeping"),
    keep_text: flag("keep up to 300 characters of arguments, results and messages, not only their digests"),
  }),
  terminal: z.strictObject({
    idle_timeout_minutes: minutesSetting("time without terminal output before it is a finding"),
    completion_timeout_minutes: minutesSetting("time without a completion marker before it is a finding"),
    rate_limit_backoff_seconds: secondsSetting("wait after a rate limit"),
    repeated_error_threshold: z
      .number()
      .int()
      .positive()
      .max(30)
      .describe("identical errors before they are a finding"),
    repeated_error_window_minutes: minutesSetting("the time within which they are counted"),
    auto_kill_on_idle: flag("true: stop an agent that shows no sign of work for idle_timeout_minutes"),
    max_text_wait_seconds: secondsSetting("longest wait that is believed because the output says so"),
    auto_kill_on_repeated_error: flag("stop an agent that repeats an error"),
    on_leftovers: OnLeftovers.describe("what becomes of processes that an agent left running when it ended"),
    alert_channel: z.string().max(100).describe("where terminal alerts go"),
    completion_marker: z.string().min(1).max(200).describe("text in the output that says the work is done"),
    output_kept_mb: z.number().positive().max(10_000).describe("how much of the last output is kept per agent"),
    patterns: z.array(UserPattern).max(200).describe("patterns of your own, beside those that come with Rouse"),
  }),
  tasks: z.strictObject({
    interval_minutes: minutesSetting("how often tasks are looked at"),
    task_stalled_after_minutes: minutesSetting("time without an update that makes a task stalled"),
    task_long_running_after_minutes: minutesSetting("time after which a task is long-running"),
    agent_silent_after_minutes: minutesSetting("time without a beat that makes an agent silent"),
    agent_high_error_rate: share("share of failures over the last 10 tasks that is high"),
    stalled_recheck_minutes: minutesSetting("after which a stalled task is looked at again and escalated"),
    on_timeout: AfterTimeout.describe(
      "an agent that works on at a task after it was told that the task timed out: nudge stops it through the kill gate where it has shown that it read that, and asks otherwise; stop stops it; none leaves it alone",
    ),
    file: z.string().min(1).max(4096).optional().describe("a file of tasks, one JSON object a line, read and written"),
    check_calendar: flag("look for deadlines in a calendar"),
    check_email: flag("look for urgent mail"),
    calendar_provider: z.enum(["google", "outlook", "none"]).describe("whose calendar"),
  }),
  alerting: z.record(z.string().max(100), alertRoute.partial()),
});
export type Settings = z.infer<typeof Settings>;

export type PartialSettings = DeepPartial<Settings>;
type DeepPartial<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [K in keyof T]?: DeepPartial<T[K]> | undefined }
    : T;

/** Accepted and checked because they are in everybody's config files, but nothing in this version acts on them yet. */
export const settingsWithoutEffect: readonly string[] = [
  "health_check.interval_seconds",
  "anomaly",
  "terminal.alert_channel",
  "tasks.interval_minutes",
  "tasks.agent_silent_after_minutes",
  "tasks.check_calendar",
  "tasks.check_email",
  "tasks.calendar_provider",
  "alerting",
];
