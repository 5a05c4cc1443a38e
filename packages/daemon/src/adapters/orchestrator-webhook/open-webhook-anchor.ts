import type { DurationMs } from "@rouse/contract";
import { whyNotTo } from "../../config/read-webhook-address.ts";
import type { Anchor } from "../../ports/anchors.ts";
import type { Clock, Timers } from "../../ports/clock.ts";
import { describeFault, isTaken, postSigned } from "./post-signed.ts";

export interface WebhookAnchorParts {
  readonly to: URL;
  readonly secret: string;
  readonly clock: Clock;
  readonly timers: Timers;
}

const longestTry: DurationMs = 10_000;

/** The receiver of the webhook keeps the seals. It cannot be asked for them. */
export function openWebhookAnchor({ to, secret, clock, timers }: WebhookAnchorParts): Anchor {
  return {
    async place(seal, stop) {
      const delivery = `${seal.store}/${seal.number}`;
      const whyNot = (address: string) => whyNotTo(to, address, false);
      const letter = { to, whyNot, delivery, body: JSON.stringify(seal), secret, at: clock.wall(), within: longestTry };
      const { status } = await postSigned(letter, timers, stop).catch((error: unknown) => {
        throw new Error(describeFault(to, error));
      });
      if (!isTaken(status)) throw new Error(`${to.origin} answered ${status}`);
    },
    read: async () => null,
  };
}
