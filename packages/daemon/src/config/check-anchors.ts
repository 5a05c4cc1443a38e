import type { ConfigProblem } from "./config-problem.ts";
import type { Layer } from "./layer.ts";
import { readAnchor } from "./read-anchor.ts";
import { valueAt } from "./schema-node.ts";

const place = ["audit", "anchor"] as const;

/** Anchors that nothing could ever be kept at. Overrides are not looked at: there they have no effect, and that is what they are told. */
export function checkAnchors(layers: readonly Layer[], told: ReadonlySet<string>): ConfigProblem[] {
  return layers.flatMap((layer) => {
    const anchors = valueAt(layer.values, place);
    if (!Array.isArray(anchors)) return [];
    return anchors.flatMap((anchor: unknown, nth) => {
      const at = layer.locate([...place, nth]);
      if (typeof anchor !== "string" || told.has(at.path)) return [];
      const reading = readAnchor(anchor);
      return "problem" in reading ? [{ ...at, message: reading.problem }] : [];
    });
  });
}
