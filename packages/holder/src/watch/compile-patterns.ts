import { type AgentFamily, printable, type UserPattern } from "@rouse/contract";
import type { Pattern } from "@rouse/core";
import type { WatchSettings } from "../protocol/spec.ts";

/**
 * The user's patterns for this program, and the completion marker. A pattern that does not compile is left out with a
 * note: the configuration refuses it, and here an agent already runs that must be watched.
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

/** The engine is loaded only where there are patterns. It takes linear time whatever the pattern. */
async function compileAll(patterns: readonly UserPattern[], note: (problem: string) => void): Promise<Pattern[]> {
  const { RE2JS } = await import("re2js");
  return patterns.flatMap(({ kind, pattern, name: given = pattern }) => {
    // The name goes along with every sight, to everything that shows it.
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

/** The marker has to be a whole line: a text about the marker has other words around it. */
const findsMarker = (marker: string): Pattern => ({
  kind: "completed",
  name: "completion marker",
  find: (line) => (line === marker.trim() ? [marker] : null),
});
