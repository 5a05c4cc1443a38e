import type { Nudge } from "./type-nudge.ts";

/** A nudge that may be given for a minute. */
export const nudgeOf = (over: Partial<Nudge> = {}): Nudge => ({
  id: "a/1/nudge/1",
  whenIdle: false,
  text: "FACT: The last 5 calls were identical.",
  notAfter: Date.now() + 60_000,
  begin: () => true,
  ...over,
});
