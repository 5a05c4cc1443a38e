import type { RestartRule, RestartRuleReport, Settings } from "@rouse/contract";
import { describeSeconds } from "../text/tell-time.ts";

/** A rule with its numbers, by the settings that hold for its agent. */
export function reportRestartRule(rule: RestartRule, { restart }: Settings): RestartRuleReport {
  const max = rule.when === "no" ? 0 : ((rule.when === "on-failure" ? rule.max : null) ?? restart.max_attempts);
  return { when: rule.when, max, windowSeconds: restart.escalation_window_seconds };
}

/** What follows when it ends, for the moment it is started: nobody shall be surprised by a second run, or by none. */
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

/** The same in a line of `rouse health`. */
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
