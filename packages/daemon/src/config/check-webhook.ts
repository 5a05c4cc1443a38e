import type { ConfigProblem } from "./config-problem.ts";
import type { Layer } from "./layer.ts";
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
