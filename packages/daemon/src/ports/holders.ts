import type {
  ContainmentMeans,
  ContainOutcome,
  DurationMs,
  EpochMs,
  ExitStatus,
  HolderInfo,
  HolderLoss,
  HolderReport,
  LifeIdentity,
  NudgeDelivery,
  RecoveryContext,
  RunningProcess,
  StopOutcome,
} from "@rouse/contract";
import type { WatchSettings } from "@rouse/holder";

export type { WatchSettings };

/** What a holder registered of a life. */
export interface RegisteredLife {
  readonly incarnation: number;
  readonly pid: number;
  /** `null`: its holder is of an earlier version, or was never connected. */
  readonly identity: LifeIdentity | null;
  /** The processes that it left. */
  readonly left: readonly number[];
}

/** How and when an agent ended, as its holder wrote it down. */
export interface WrittenExit {
  readonly exit: ExitStatus;
  readonly at: EpochMs;
}

/** What holders report. Each call resolves once it is saved: only then is the report acknowledged to the holder. */
export interface HolderNews {
  /** Which life of an agent is known, whether it is over, and whether it left processes. `null`: an unknown agent. */
  standing(agentId: string): { readonly incarnation: number; readonly over: boolean; readonly left: boolean } | null;
  /** The last life of an agent. `null`: an unknown agent. */
  registered(agentId: string): RegisteredLife | null;
  /** An agent has a holder. Resolves to the last report known of this life, or `null` when that life is over. */
  held(
    hold: HolderInfo,
    adopted: boolean,
  ): Promise<{ readonly lastReport: number; readonly settings: WatchSettings } | null>;
  reported(agentId: string, incarnation: number, report: HolderReport): Promise<void>;
  /** Its holder is gone (or `because`): whether the agent's process is, and how it ended if that is known. */
  lost(
    agentId: string,
    incarnation: number,
    process: "gone" | "alive",
    exit: WrittenExit | null,
    because?: HolderLoss,
  ): Promise<void>;
  /** An agent that has ended: its holder is gone, and so are the processes it left. */
  nobodyLeft(agentId: string, incarnation: number): Promise<void>;
  /** Processes of that life are about to be ended before the next begins. None is signalled before this resolves. */
  endsLeftovers(agentId: string, incarnation: number, processes: readonly RunningProcess[]): Promise<void>;
}

export interface StopRequest {
  readonly key: string;
  readonly agentId: string;
  readonly incarnation: number;
  readonly grace: DurationMs;
  /** For our own decisions: refused as `attached` while a person is attached to its terminal. */
  readonly unlessAttached: boolean;
  /** For our own decisions: refused as `too-late` after this moment of the wall clock. */
  readonly notAfter?: EpochMs;
  /** For our own decisions about a silent agent: refused as `moved-since` when it has shown work since this moment. */
  readonly silentAt?: EpochMs;
}

export interface NudgeRequest {
  readonly key: string;
  readonly agentId: string;
  readonly incarnation: number;
  /** At most 2000 characters; typed as one line. */
  readonly text: string;
  /** Not given after this moment of the wall clock. */
  readonly notAfter: EpochMs;
  /** Also into a terminal that a person is attached to, when they have not typed for a while. */
  readonly whenIdle?: true;
}

export interface ContainRequest {
  readonly key: string;
  readonly agentId: string;
  readonly incarnation: number;
  readonly how: ContainmentMeans | "let-go";
  /** Its program is told this instead of running a tool. */
  readonly reason: string;
  /** Grows from one decision to the next. */
  readonly decidedAt: number;
  readonly lasts: DurationMs;
}

/** What the next life of an agent begins with. */
export interface Revival {
  readonly context: RecoveryContext;
  /** JSON; put into a file that only the agent's owner can read. */
  readonly state: string | null;
  /** The conversation of its last life, for programs that keep one. */
  readonly session: string | null;
  /** That conversation is as long as its program allows: the next life begins a new one. */
  readonly sessionFull?: true;
}

export type Started =
  | { readonly incarnation: number; readonly recovery: RecoveryContext | null }
  | { readonly problem: string };

/** What the program of an agent says of its account. `unknown`: the caller goes on as if it had not asked. */
export type Quota =
  | { readonly kind: "free" }
  | { readonly kind: "used-up"; readonly resetsInMs: DurationMs | null }
  | {
      readonly kind: "unknown";
      /** `another-account`: the account that can be asked is not the agent's; `begun`: its next life runs already. */
      readonly because:
        | "no-way"
        | "started-otherwise"
        | "another-account"
        | "pays-for-more"
        | "no-answer"
        | "nonsense"
        | "begun";
    };

/**
 * The hands on supervised agents. The promises:
 * - After `begin`, every holder of this home is found within seconds, also one that comes later, and reported once.
 * - Reports of one life arrive in order and none is left out; around a crash one may come twice.
 * - A holder that is gone, silent or refuses us is reported with the reason. After that, the agent's process is watched
 *   and its end reported. A holder that listens to us again is reported as held.
 * - `stop` verifies identity and life before every signal; calling it twice is calling it once. It rejects only when
 *   the outcome is unknown.
 * - Where the holder is gone, a process that its files name is signalled only if it is the one that was registered.
 * - `withdrawStop` prevents a stop that has not begun, also one that arrives later. It is tried once and never rejects.
 * - `nudge` gives its text at most once per key, and never into a prompt, a half-typed line, a full screen or a
 *   terminal that a person uses. It rejects only when the outcome is unknown; called again with the same key, it gives
 *   the first answer.
 * - `contain` interrupts a turn at most once per key, and never where that keystroke might mean something else. A pause
 *   ends by itself after `lasts`. A decision from before the agent was let go has no effect after it.
 * - `quotaOf` sends no request to a model, leaves no process behind, and takes seconds. It rejects only when this
 *   monitor closes.
 * - `forget` removes everything that is kept of an agent whose holder and process are gone, and waits some seconds for
 *   a holder that is exiting. While one of them is there it removes nothing and answers false. An unknown agent is
 *   forgotten already.
 * - `startAgain` starts the same command with the same configuration as the next life and tells it where to go on.
 *   Called again for the same life, it starts nothing twice, and tries again what never began.
 */
export interface Holders {
  /** `epoch` grows with every monitor on this store: holders refuse orders of an older one, and of another store. */
  begin(news: HolderNews, epoch: number, store: string): Promise<void>;
  stop(request: StopRequest): Promise<StopOutcome>;
  withdrawStop(request: Pick<StopRequest, "key" | "agentId" | "incarnation">): Promise<void>;
  nudge(request: NudgeRequest): Promise<NudgeDelivery>;
  contain(request: ContainRequest): Promise<ContainOutcome>;
  /** Whether the account of an agent that is down has quota again. */
  quotaOf(agentId: string, afterIncarnation: number): Promise<Quota>;
  startAgain(agentId: string, afterIncarnation: number, revival: Revival | null): Promise<Started>;
  forget(agentId: string): Promise<boolean>;
  /** The folder it was started in; `null` when that is not known. */
  folderOf(agentId: string): string | null;
  /** When a person said, while no monitor ran, that this life is to be the last; `null`: nobody did. */
  keptDownAt(agentId: string, incarnation: number): EpochMs | null;
  /** New settings for all agents with a holder. */
  settle(settingsOf: (agentId: string) => WatchSettings | null): void;
  /** After a gap: every holder that can be reached looks at its agent at once and reports. */
  lookAnew(): void;
  close(): Promise<void>;
}

/** Where holders are, and how a restarted agent reaches this monitor. */
export interface HolderHome {
  readonly folder: string;
  /** The owner's token, from which the agent's own is made. */
  readonly token: string;
  readonly url: () => string | null;
}

/** For a monitor without holders: embedded in a program, or simulated. */
export const noHolders: Holders = {
  begin: async () => {},
  stop: async () => ({ kind: "refused", because: "not-registered" }),
  nudge: async () => ({ kind: "not-sent", because: "not-registered" }),
  withdrawStop: async () => undefined,
  contain: async () => ({ kind: "not-contained", because: "not-registered" }),
  quotaOf: async () => ({ kind: "unknown", because: "no-way" }),
  startAgain: async () => ({ problem: "this monitor holds no agents" }),
  forget: async () => true,
  folderOf: () => null,
  keptDownAt: () => null,
  settle: () => {},
  lookAnew: () => {},
  close: async () => {},
};
