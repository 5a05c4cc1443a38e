import type { RecoveryContext } from "@rouse/contract";
import type { StopRequest } from "../packages/daemon/src/ports/holders.ts";
import type { HeldActor, WorldLimit } from "./held-actor.ts";

/** Sees what is really done to agents, as opposed to what the monitor says of it. */
export interface HandsWitness {
  /** The monitor asks for it; it may never arrive. */
  stopWanted(request: StopRequest): void;
  /** The first signal is about to be sent. */
  stopped(actor: HeldActor, request: StopRequest): void;
  survived(actor: HeldActor): void;
  nudged(actor: HeldActor, key: string): void;
  /** The monitor wants it started just after it was told that its limit stands. */
  startWantedAtLimit(actor: HeldActor, limit: WorldLimit): void;
  /** The next life is about to be started, with this to go on from. */
  revived(actor: HeldActor, context: RecoveryContext | null): void;
}
