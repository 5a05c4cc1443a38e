import { type DurationMs, describeDuration, minutes, type RestartRuleReport, type Settings } from "@rouse/contract";

/** What an agent's owner has ruled in advance, in words for the moment it is started: who is stopped by a rule shall have been told of it. */
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

/** Whom the policy does not let anybody stop no rule stops either. */
function whyIneffective({ enabled, mode, protected: isProtected }: Settings): string | null {
  if (!enabled) return "its policy has enabled: false";
  if (mode !== "act") return `its policy has mode: ${mode}`;
  return isProtected ? "its policy has protected: true" : null;
}
