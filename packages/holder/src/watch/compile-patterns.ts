import { type AgentFamily, printable, type UserPattern } from "@rouse/contract";
import type { Pattern } from "@rouse/core";
import type { WatchSettings } from "../protocol/spec.ts";

/**
 * The user's patterns for this program, and the marker that says the work is done. One that does not compile is left out with a note: the
 * configuration is where it is refused, and here an agent runs that should not go unwatched for it.
 */
export async function compilePatterns(
  { patterns, completionMarker }: WatchSettings,
  family: AgentFamily,
  note: (problem: string) => void,
): Promise<Pattern[]> {
  const wanted = patterns.filter((pattern) => pattern.family === undefined || pattern.family === family);
  const compiled = wanted.length === 0 ? [] : await compileAll(wanted, note);
  return completionMarker === "" ? compiled : [...compiled, findsMarker(completionMarker)];
}

/** Loaded only for those who wrote patterns. Takes linear time whatever they wrote. */
async function compileAll(patterns: readonly UserPattern[], note: (problem: string) => void): Promise<Pattern[]> {
  const { RE2JS } = await import("re2js");
  return patterns.flatMap(({ kind, pattern, name: given = pattern }) => {
    // It travels with every sight, and through whatever shows it.
    const name = printable(given, 150);
    try {
      const expression = RE2JS.compile(pattern);
      return [{ kind, name, find: (line: string) => groupsOf(expression.matcher(line)) }];
    } catch (error) {
      note(`the pattern ${JSON.stringify(name)} is left out: ${printable((error as Error).message)}`);
      return [];
    }
  });
}

interface Matcher {
  find(): boolean;
  groupCount(): number;
  group(index: number): string | null;
}

function groupsOf(matcher: Matcher): readonly (string | undefined)[] | null {
  if (!matcher.find()) return null;
  return Array.from({ length: matcher.groupCount() + 1 }, (_, index) => matcher.group(index) ?? undefined);
}

/** On a line of its own: whoever speaks about it puts words around it. */
const findsMarker = (marker: string): Pattern => ({
  kind: "completed",
  name: "completion marker",
  find: (line) => (line === marker.trim() ? [marker] : null),
});
