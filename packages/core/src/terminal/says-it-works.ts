import type { AgentFamily } from "@rouse/contract";
import { findInput } from "./find-input.ts";
import { cut, longestLine } from "./mask-text.ts";
import type { Screen } from "./reading.ts";

/** The key that would interrupt it. */
const interruptKey = /\b(?:[Ee]sc|ESC|[Cc]trl\+[Cc]) (?:to )?(?:interrupt|cancel|stop)\b/;
/** What could be cancelled here is a wait for its limit. */
const waitsForLimit = /\bcontinuing automatically\b/i;
/**
 * A row that only the program itself draws, further left than its model's words and what tools print: a spinner whose sentence is not over, the next try of
 * a request, a spinner or a clock with the key.
 */
const statusRow =
  /^ ?[·✢✳✶✻✽*⠀-⣿] (?:\S.{0,80}?(?:…|\.\.\.)|.{1,120} · Retrying in \d)|^ ?[⠀-⣿] .{1,200}\b[Ee]sc to cancel\b|^ ?[•◦] [^(]{1,60}\((?:\d+[hms] ?){1,3} • esc to interrupt\)(?=\s*$| ·)/;

/**
 * Whether a program says that it is at work: in its status row, or in the footer below its input. Everywhere else its model may be writing about just those
 * words. While it is at work, an empty prompt is a place to type into, not a program with nothing to do.
 */
export function saysItWorks(screen: Screen, bottom: readonly string[], family: AgentFamily): boolean {
  const says = (row: RegExp) => (whole: string) => {
    const shown = cut(whole, longestLine);
    return row.test(shown) && !waitsForLimit.test(shown);
  };
  return bottom.some(says(statusRow)) || footerOf(screen, family).some(says(interruptKey));
}

/** How Claude Code counts, below its input, what goes on in the background. */
const leftRunning =
  /(?:^\s*|· |, )\d+ (?:shells?|monitors?|teams?|local agents?|background (?:tasks?|dynamic workflows?)|MCP tasks?|(?:remote dynamic workflow|cloud session)s?)(?= ·|,|\s*$)/;

/** Whether a program shows that it has left something running, which wakes it when it is done. */
export const showsLeftRunning = (screen: Screen, family: AgentFamily): boolean =>
  family === "claude-code" && footerOf(screen, family).some((row) => leftRunning.test(cut(row, longestLine)));

function footerOf(screen: Screen, family: AgentFamily): readonly string[] {
  const input = findInput({ ...screen, firm: screen.rows }, family);
  return input === null ? [] : screen.rows.slice(input.to + 1);
}
