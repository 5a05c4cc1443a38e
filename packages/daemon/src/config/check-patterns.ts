import { printable } from "@rouse/contract";
import { RE2JS, RE2JSException } from "re2js";
import type { ConfigProblem, Layer } from "./config-problem.ts";
import { isGroup, valueAt } from "./schema-node.ts";

const place = ["terminal", "patterns"] as const;
const hint = "patterns run on a linear-time engine (RE2), which has no look-around and no back-references";

/** Patterns of the user's own that cannot be compiled. Those `told` to be wrong already, by their length say, are left alone. */
export function checkPatterns(layers: readonly Layer[], told: ReadonlySet<string>): ConfigProblem[] {
  // An anchor may put the same patterns into hundreds of overrides.
  const verdicts = new Map<string, string | null>();
  return layers.flatMap((layer) => {
    const patterns = valueAt(layer.values, place);
    if (!Array.isArray(patterns)) return [];
    return patterns.flatMap((entry: unknown, i) => {
      const text = isGroup(entry) ? entry.pattern : undefined;
      const at = layer.locate([...place, i, "pattern"]);
      if (typeof text !== "string" || told.has(at.path)) return [];
      const known = verdicts.get(text);
      const verdict = known === undefined ? problemWith(text) : known;
      verdicts.set(text, verdict);
      return verdict === null ? [] : [{ ...at, message: `not a pattern that can be used: ${verdict}; ${hint}` }];
    });
  });
}

/** In the engine's own words, which quote the part it stumbled over. */
function problemWith(pattern: string): string | null {
  try {
    RE2JS.compile(pattern);
    return null;
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return printable(error.message.replace(/^error parsing regexp: /, ""), 120);
  }
}
