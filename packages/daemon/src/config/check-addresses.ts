import type { ConfigProblem, Layer } from "./config-problem.ts";
import { readAnchor } from "./read-anchor.ts";
import { readWebhookAddress } from "./read-webhook-address.ts";
import { valueAt } from "./schema-node.ts";

const place = ["escalation", "webhook_url"] as const;
const leave = ["escalation", "allow_private_webhook"] as const;

/** Addresses that nothing would ever be sent to. Overrides are not looked at: there it has no effect, and that is what they are told. */
export function checkWebhook(layers: readonly Layer[], told: ReadonlySet<string>): ConfigProblem[] {
  const allowPrivate =
    layers.map(({ values }) => valueAt(values, leave)).findLast((value) => value !== undefined) === true;
  return layers.flatMap((layer) => {
    const address = valueAt(layer.values, place);
    const at = layer.locate(place);
    if (typeof address !== "string" || told.has(at.path)) return [];
    const reading = readWebhookAddress(address, allowPrivate);
    return "problem" in reading ? [{ ...at, message: reading.problem }] : [];
  });
}

const anchors = ["audit", "anchor"] as const;

/** Anchors that nothing could ever be kept at. Overrides are not looked at: there they have no effect, and that is what they are told. */
export function checkAnchors(layers: readonly Layer[], told: ReadonlySet<string>): ConfigProblem[] {
  return layers.flatMap((layer) => {
    const given = valueAt(layer.values, anchors);
    if (!Array.isArray(given)) return [];
    return given.flatMap((anchor: unknown, nth) => {
      const at = layer.locate([...anchors, nth]);
      if (typeof anchor !== "string" || told.has(at.path)) return [];
      const reading = readAnchor(anchor);
      return "problem" in reading ? [{ ...at, message: reading.problem }] : [];
    });
  });
}
