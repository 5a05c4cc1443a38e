import type { Containment } from "../nudge/contain-agent.ts";
import type { HookAnswer } from "./listen-for-hooks.ts";

/** What Claude Code is told to wait for an answer before it uses a tool: somewhat longer than any answer takes. */
export const toolHookSeconds = 30;
export const heldMs = 25_000;

/**
 * The answer to a hook of a program that asks before it uses a tool; `null`: nothing is withheld. Where somebody sits at its terminal they are asked. Elsewhere nobody
 * could answer, and one that is told no asks its model again at once and burns on as before: so the call is held, goes its way when the agent is let go
 * meanwhile, and is told no only when its program would not wait any longer.
 */
export function withholdTool(
  event: string,
  containment: Containment,
  inTerminal: boolean,
  waits = heldMs,
): HookAnswer | Promise<HookAnswer> | null {
  const reason = event === "PreToolUse" ? containment.withheld() : null;
  if (reason === null) return null;
  if (inTerminal) return decide("ask", reason);
  return containment.untilLetGo(waits).then(() => {
    const still = containment.withheld();
    return still === null ? { body: {} } : decide("deny", still);
  });
}

const decide = (permissionDecision: "ask" | "deny", permissionDecisionReason: string): HookAnswer => ({
  body: { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision, permissionDecisionReason } },
});
