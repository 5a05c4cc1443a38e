import type { ConfigProblem } from "./config-problem.ts";
import type { Layer } from "./layer.ts";
import { readWebhookAddress } from "./read-webhook-address.ts";
import { valueAt } from "./schema-node.ts";

const place = ["escalation", "webhook_url"] as const;

/** Addresses that nothing would ever be sent to. Overrides are not looked at: there it has no effect, and that is what they are told. */
export function checkWebhook(layers: readonly Layer[], told: ReadonlySet<string>): ConfigProblem[] {
  return layers.flatMap((layer) => {
    const address = valueAt(layer.values, place);
    const at = layer.locate(place);
    if (typeof address !== "string" || told.has(at.path)) return [];
    const reading = readWebhookAddress(address);
    return "problem" in reading ? [{ ...at, message: reading.problem }] : [];
  });
}
