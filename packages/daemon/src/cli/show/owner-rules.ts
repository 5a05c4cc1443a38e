import {
  type DurationMs,
  describeDuration,
  minutes,
  type RestartRule,
  type RestartRuleReport,
  type Settings,
} from "@rouse/contract";
import { describeSeconds } from "../text/tell-time.ts";

/** The owner's rules for an agent, worded for the moment it is started: a rule that stops it must have been told. */
export function describeOwnerRules(
  agentId: string,
  idleKill: DurationMs | null,
  settings: Settings,
  { when }: Pick<RestartRuleReport, "when">,
): string[] {
  const ineffective = whyIneffective(settings);
  if (ineffective !== null)
    return idleKill === null ? [] : [`--idle-kill has no effect on ${agentId}: ${ineffective}.`];
  const { terminal, heartbeat } = settings;
  const rules: string[] = [];
  if (idleKill !== null) rules.push(`${stoppedAfter(idleKill)}, because you said so`);
  else if (terminal.auto_kill_on_idle)
    rules.push(
      `${stoppedAfter(minutes(terminal.idle_timeout_minutes))}, because its policy says so (auto_kill_on_idle)`,
    );
  if (heartbeat.restart_on_missed_beats)
    rules.push(
      `stopped${when === "no" ? "" : " and started again"} when its beats stop, once it has shown that a timer sends them, because its policy says so (restart_on_missed_beats)`,
    );
  return rules.map((rule) => `${agentId} will be ${rule}.`);
}

const stoppedAfter = (idle: DurationMs): string => `stopped after ${describeDuration(idle)} without any sign of work`;

/** Why no rule has an effect: an agent that the policy protects is not stopped by a rule either. */
function whyIneffective({ enabled, mode, protected: isProtected }: Settings): string | null {
  if (!enabled) return "its policy has enabled: false";
  if (mode !== "act") return `its policy has mode: ${mode}`;
  return isProtected ? "its policy has protected: true" : null;
}

/** A restart rule with its numbers, by the settings of the agent. */
export function reportRestartRule(rule: RestartRule, { restart }: Settings): RestartRuleReport {
  const max = rule.when === "no" ? 0 : ((rule.when === "on-failure" ? rule.max : null) ?? restart.max_attempts);
  return { when: rule.when, max, windowSeconds: restart.escalation_window_seconds };
}

/** What follows when the agent ends, told when it is started: a second run, or none, should surprise nobody. */
export function announceRestartRule(
  agentId: string,
  rule: RestartRuleReport,
  settings: Settings,
  isGiven: boolean,
): string {
  const without = settings.enabled ? (settings.mode === "act" ? null : `mode: ${settings.mode}`) : "enabled: false";
  if (rule.when !== "no" && without !== null)
    return `${agentId} is not started again when it ends: its policy has ${without}.`;
  switch (rule.when) {
    case "no":
      return `It is not started again when it ends${isGiven ? "" : "; `--restart` changes that"}.`;
    case "on-failure":
      return `If it fails it is started again ${upTo(rule)}.`;
    case "always":
      return `It is started again whenever it ends, unless you end it; after failures ${upTo(rule)}.`;
  }
}

/** The rule in a line of `rouse health`. */
export function describeRestartRule(rule: RestartRuleReport): string {
  switch (rule.when) {
    case "no":
      return "not started again";
    case "on-failure":
      return `started again if it fails, ${upTo(rule)}`;
    case "always":
      return `started again, unless a person ends it; after failures ${upTo(rule)}`;
  }
}

const upTo = ({ max, windowSeconds }: RestartRuleReport): string =>
  `${max === 1 ? "at most once" : `up to ${max} times`} in ${windowSeconds === 3600 ? "an hour" : describeSeconds(windowSeconds)}`;
