import type { Action } from "@rouse/core";

type AlertAction = Extract<Action, { kind: "raise-alert" | "resolve-alert" }>;

/**
 * Tells somebody. Resolves when the alert is out of our hands; may be called again with the same key after a crash and must then
 * not be a second alert for whoever can tell by the key.
 */
export interface Alerts {
  deliver(action: AlertAction): Promise<void>;
}
