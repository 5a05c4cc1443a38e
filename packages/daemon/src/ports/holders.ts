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

/** What is known of a life from its holder's own word. */
export interface RegisteredLife {
  readonly incarnation: number;
  readonly pid: number;
  /** `null`: its holder is of an earlier version, or nobody ever spoke with it. */
  readonly identity: LifeIdentity | null;
  /** The processes that it left. */
  readonly left: readonly number[];
}

/** What holders have to tell. Each call resolves once it is saved: only then is the holder told that it was heard. */
/** How an agent ended, as its holder wrote it down, and when. */
export interface WrittenExit {
  readonly exit: ExitStatus;
  readonly at: EpochMs;
}

export interface HolderNews {
  /** Which life of an agent is known, whether its end is, and whether it left processes. `null`: nobody knows it. */
  standing(agentId: string): { readonly incarnation: number; readonly over: boolean; readonly left: boolean } | null;
  /** Who the last life of an agent is. `null`: nobody knows it. */
  registered(agentId: string): RegisteredLife | null;
  /** Somebody is held. Resolves to the number of the last report that is known of this life, or `null` when that life is over. */
  held(
    hold: HolderInfo,
    adopted: boolean,
  ): Promise<{ readonly lastReport: number; readonly settings: WatchSettings } | null>;
  reported(agentId: string, incarnation: number, report: HolderReport): Promise<void>;
  /** Its holder is gone (unless another reason is given); what of the agent's own process, and how it ended if that is known. */
  lost(
    agentId: string,
    incarnation: number,
    process: "gone" | "alive",
    exit: WrittenExit | null,
    because?: HolderLoss,
  ): Promise<void>;
  /** Its end is known, its holder is gone, and so are the processes it left. */
  nobodyLeft(agentId: string, incarnation: number): Promise<void>;
  /** Processes of that life are about to be ended, because the next would work beside them. Nobody is signalled before this resolves. */
  endsLeftovers(agentId: string, incarnation: number, processes: readonly RunningProcess[]): Promise<void>;
}

export interface StopRequest {
  readonly key: string;
  readonly agentId: string;
  readonly incarnation: number;
  readonly grace: DurationMs;
  /** Our own decision, not a person's word: refused as `attached` while somebody sits at its terminal. */
  readonly unlessAttached: boolean;
  /** Of our own decision. Refused as `too-late` when it would be begun after this moment of the wall clock. */
  readonly notAfter?: EpochMs;
  /** Of our own decision, made for the agent's silence. Refused as `moved-since` when it has shown work since this moment of the wall clock. */
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
  /** Also into a terminal that a person has open, when they have left it alone. */
  readonly whenIdle?: true;
}

export interface ContainRequest {
  readonly key: string;
  readonly agentId: string;
  readonly incarnation: number;
  readonly how: ContainmentMeans | "let-go";
  /** What its program is told instead of its tools being run. */
  readonly reason: string;
  /** Grows from one decision to the next. */
  readonly decidedAt: number;
  readonly lasts: DurationMs;
}

/** What the next life of an agent is given to go on with. */
export interface Revival {
  readonly context: RecoveryContext;
  /** JSON; put into a file that only the agent's owner can read. */
  readonly state: string | null;
  /** The conversation of its last life, for programs that keep such. */
  readonly session: string | null;
  /** That conversation is as long as its program can bear: the next life begins a new one. */
  readonly sessionFull?: true;
}

export type Started =
  | { readonly incarnation: number; readonly recovery: RecoveryContext | null }
  | { readonly problem: string };

/** What the program of an agent says of its account. `unknown`: nothing can be concluded, and whoever asked does what it would have done unasked. */
export type Quota =
  | { readonly kind: "free" }
  | { readonly kind: "used-up"; readonly resetsInMs: DurationMs | null }
  | {
      readonly kind: "unknown";
      /** `another-account`: what could be asked is not what the agent uses; `begun`: its next life is there already. */
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
 * - After `begin`, every holder of this home is found within seconds, whether it was there before or came later, and each is told about once.
 * - Reports of one life arrive in order, none is left out; one may come twice around a crash.
 * - A holder that is gone, silent or refuses us is told of with the reason, and after it the end of the agent's process, by looking at the
 *   process itself. One that listens to us again is told of as held.
 * - `stop` verifies identity and life before every signal, and is the same done twice. It rejects only when nothing could be learnt.
 * - Where its holder is gone, nobody is signalled for what files say of a life unless that is what was registered of it.
 * - `withdrawStop` keeps a stop from being begun, also one that is still to arrive. It is tried once and never rejects.
 * - `nudge` gives its text at most once per key, and never into a prompt, a half-typed line, a full screen or somebody's hands. It rejects only
 *   when nothing could be learnt; asked again with the same key, it gives the first answer and types nothing.
 * - `contain` breaks a turn off at most once per key, and never where the key might mean something else; a pause ends by itself after `lasts`; what
 *   was decided before the agent was let go has no effect after it.
 * - `quotaOf` asks without a request to a model, leaves no process behind, and takes seconds. It rejects only when this monitor is closed meanwhile.
 * - `forget` removes everything that is kept of an agent whose holder and process are gone, and waits some seconds for a holder that is leaving. It
 *   answers false, and has removed nothing, while one of them is there. An agent that nothing is kept of is forgotten already.
 * - `startAgain` starts the same command with the same configuration as the next life and tells it where to go on; asked again for the same life, it
 *   starts nothing twice, and tries again what never began.
 */
export interface Holders {
  /** `epoch` grows with every monitor on the store of this id: holders refuse the orders of an older one, and of another store's. */
  begin(news: HolderNews, epoch: number, store: string): Promise<void>;
  stop(request: StopRequest): Promise<StopOutcome>;
  withdrawStop(request: Pick<StopRequest, "key" | "agentId" | "incarnation">): Promise<void>;
  nudge(request: NudgeRequest): Promise<NudgeDelivery>;
  contain(request: ContainRequest): Promise<ContainOutcome>;
  /** Whether the account of an agent that is down may be used again. */
  quotaOf(agentId: string, afterIncarnation: number): Promise<Quota>;
  startAgain(agentId: string, afterIncarnation: number, revival: Revival | null): Promise<Started>;
  forget(agentId: string): Promise<boolean>;
  /** The folder it was started in; `null` when nothing is written down of it. */
  folderOf(agentId: string): string | null;
  /** When a person said, while no monitor ran, that after this life there is to be no other; `null`: nobody did. */
  keptDownAt(agentId: string, incarnation: number): EpochMs | null;
  /** New patterns for whoever is held. */
  settle(settingsOf: (agentId: string) => WatchSettings | null): void;
  /** Everybody held is looked at again at once and reported of, for a monitor that has been absent. Who cannot be reached now is heard of in its own time. */
  lookAnew(): void;
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
