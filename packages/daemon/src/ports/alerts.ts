import type { Action } from "@rouse/core";

type AlertAction = Extract<Action, { kind: "raise-alert" | "resolve-alert" }>;

/** Resolves when the alert is sent. Called again with the same key, as after a crash, it is no second alert. */
export interface Alerts {
  deliver(action: AlertAction): Promise<void>;
}
