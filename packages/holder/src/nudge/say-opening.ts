import { setTimeout as pause } from "node:timers/promises";
import type { NudgeDelivery, NudgeRefusal } from "@rouse/contract";
import type { Nudge } from "./type-nudge.ts";

/** A program that starts shows no input at first, or one that it still draws. */
const notYet: readonly NudgeRefusal[] = ["no-input", "full-screen", "busy-screen"];
const lookMs = 500;
const patienceMs = 120_000;

/** Tells a program how its life begins, as soon as it shows where. One that never does stands at its prompt, or asks, which is told. */
export async function sayOpening(
  give: (nudge: Nudge) => Promise<NudgeDelivery>,
  text: string,
  notAfter = Date.now() + patienceMs,
): Promise<NudgeDelivery> {
  for (;;) {
    const delivery = await give({ id: "opening", text, notAfter, whenIdle: false, begin: () => true });
    if (delivery.kind === "sent" || !notYet.includes(delivery.because)) return delivery;
    await pause(lookMs, undefined, { ref: false });
  }
}
