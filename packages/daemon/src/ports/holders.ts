import type { DurationMs, ExitStatus, Hold, HolderReport, StopOutcome, UserPattern } from "@rouse/contract";

/** How a holder reads its agent's terminal; patterns and marker come from the agent's policy. */
export interface WatchSettings {
  readonly patterns: readonly UserPattern[];
  readonly completionMarker: string;
}

/** What holders have to tell. Each call resolves once it is saved: only then is the holder told that it was heard. */
export interface HolderNews {
  /** Which life of an agent is known, and whether its end is. `null`: nobody knows it. */
  standing(agentId: string): { readonly incarnation: number; readonly over: boolean } | null;
  /** Somebody is held. Resolves to the number of the last report that is known of this life, or `null` when that life is over. */
  held(hold: Hold, adopted: boolean): Promise<{ readonly lastReport: number; readonly settings: WatchSettings } | null>;
  reported(agentId: string, incarnation: number, report: HolderReport): Promise<void>;
  /** Its holder is gone; what of the agent's own process, and how it ended if that is known. */
  lost(agentId: string, incarnation: number, process: "gone" | "alive", exit: ExitStatus | null): Promise<void>;
}

export interface StopRequest {
  readonly key: string;
  readonly agentId: string;
  readonly incarnation: number;
  readonly grace: DurationMs;
}

/**
 * The hands on supervised agents. The promises:
 * - After `begin`, every holder of this home is found within seconds, whether it was there before or came later, and each is told about once.
 * - Reports of one life arrive in order, none is left out; one may come twice around a crash.
 * - The death of a holder is told, and after it the end of the agent's process, by looking at the process itself.
 * - `stop` verifies identity and life before every signal, and is the same done twice. It rejects only when nothing could be learnt.
 * - `startAgain` starts the same command with the same configuration as the next life; asked again for the same life, it starts nothing twice.
 */
export interface Holders {
  /** `epoch` grows with every monitor on this store: holders refuse the orders of an older one. */
  begin(news: HolderNews, epoch: number): Promise<void>;
  stop(request: StopRequest): Promise<StopOutcome>;
  startAgain(
    agentId: string,
    afterIncarnation: number,
  ): Promise<{ readonly incarnation: number } | { readonly problem: string }>;
  /** New patterns for whoever is held. */
  settle(settingsOf: (agentId: string) => WatchSettings | null): void;
  close(): Promise<void>;
}

/** Where holders are, and what a restarted agent is told of us. */
export interface HolderHome {
  readonly folder: string;
  /** The owner's token, from which the agent's own is made. */
  readonly token: string;
  readonly url: () => string | null;
}

/** For a monitor that holds nobody: embedded in a program, or simulated. */
export const noHolders: Holders = {
  begin: async () => {},
  stop: async () => ({ kind: "refused", because: "not-registered" }),
  startAgain: async () => ({ problem: "this monitor holds no agents" }),
  settle: () => {},
  close: async () => {},
};
