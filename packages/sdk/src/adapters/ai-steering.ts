/** Vercel AI SDK 7: nudges by its own way into a run, which says whether they arrived. */
import type { Agent } from "../agent/agent-api.ts";
import { type Carried, carryNudges } from "./carry-nudges.ts";

/** Of what `experimental_createSteering()` makes. */
export interface Steering {
  steer(message: string): Promise<{ readonly type: "delivered" | "not-delivered" }>;
}

export function steerNudges(agent: Agent) {
  const mail = carryNudges(agent, offer);
  /** That of the newest run takes what comes. */
  let steering: Steering | null = null;
  const offered = new Set<Carried>();
  /** In the messages of a request, which may still come to nothing. */
  const delivered = new Set<Carried>();

  function offer(): void {
    while (steering !== null && mail.areWaiting()) offerOne(mail.take(1), steering);
  }

  function offerOne(carried: Carried, to: Steering): void {
    offered.add(carried);
    const settle = (isDelivered: boolean): void => {
      offered.delete(carried);
      if (isDelivered) return void delivered.add(carried);
      if (steering === to) steering = null; // its run is over
      carried.unanswered();
    };
    to.steer(carried.texts.join("\n")).then(
      ({ type }) => settle(type === "delivered"),
      () => settle(false),
    );
  }

  function giveBack(all: Set<Carried>): void {
    const given = [...all];
    all.clear();
    for (const carried of given) carried.unanswered();
  }

  return {
    mail,
    steer<S extends Steering>(fresh: S): S {
      steering = fresh;
      giveBack(offered); // to a run that may never begin
      offer();
      return fresh;
    },
    /** A model has answered a request with these messages; without any where the program does not let them be told. */
    wereIn(messages: readonly unknown[] = []): void {
      if (delivered.size === 0) return;
      const sent = messages.length === 0 ? null : JSON.stringify(messages);
      for (const carried of delivered) {
        if (sent !== null && !carried.texts.every((text) => sent.includes(JSON.stringify(text)))) continue;
        delivered.delete(carried);
        carried.answered();
      }
    },
    brokenOff: (): void => giveBack(delivered),
  };
}
