import type {
  AgentFamily,
  AgentInput,
  DurationMs,
  ExitStatus,
  EyeState,
  HolderInfo,
  HolderLoss,
  LifeIdentity,
  LimitKind,
  MonoMs,
  Question,
  RestartRule,
  RunningProcess,
} from "@rouse/contract";
import type { Mark } from "./facts.ts";

/** One class of error and when it was seen lately, with how much new output there had been by then. */
export interface ErrorClass {
  readonly digest: string;
  /** Masked: the class, not the error. */
  readonly text: string;
  readonly seen: readonly { readonly at: MonoMs; readonly novel: number }[];
}

/** The ways in which the processes of an agent are looked at. */
export type TreeEye = "cpu" | "disk" | "network" | "files";

/** What the tree of processes used up to the last reading, and when it was last seen to work. */
export interface TreeFacts {
  readonly at: MonoMs;
  readonly cpuMs: number;
  readonly ioBytes: number;
  readonly processes: number;
  readonly memoryBytes: number;
  /** `null`, here and below: nobody could look. */
  readonly network: { readonly sockets: number; readonly bytes: number } | null;
  readonly files: { readonly changes: number } | null;
  /** What was last read of both, however long ago. */
  readonly lastRead: { readonly bytes: number | null; readonly changes: number | null };
  readonly readsTerminal: boolean | null;
  /** When its youngest child was started; `null` when it has none. */
  readonly youngestChildAt: MonoMs | null;
  /** The first reading shows no rate: until there are two, it is taken to be at work. */
  readonly busyAt: MonoMs;
  /** When anything at all last stirred in it: a little CPU, more than a trickle read or written by whatever way, a byte, a file, a new child. */
  readonly stirredAt: MonoMs;
  /** Which eyes saw it work then; none at the first reading. */
  readonly busyBy: readonly TreeEye[];
}

/** What is known of a held agent from its terminal, its stream and its processes. Every list in it is bounded. */
export interface TerminalFacts {
  readonly pid: number;
  /** How its processes are told from all others, by its holder's own word; absent where that never told. */
  readonly identity?: LifeIdentity;
  /** Its process, by the clocks of its machine: for people. Absent where an earlier version met it. */
  readonly startedAt?: MonoMs;
  readonly family: AgentFamily;
  /** The program that its command is; `generic` for a script, whatever that runs. Absent where an earlier version met it. */
  readonly startedAs?: AgentFamily;
  readonly structured: boolean;
  readonly foreground: boolean;
  /** The task it was started for. */
  readonly startedFor: string | null;
  /** How words can be put to it, besides answers to its beats. */
  readonly input: AgentInput;
  /** By what it is seen; empty when its holder does not tell. */
  readonly eyes: readonly EyeState[];
  /** Number of the last report that is part of this. */
  readonly lastReport: number;
  /** When that was made: what was kept for a monitor that was away comes late, and is judged as of then. */
  readonly seenAt: MonoMs;
  /** Its owner's own rule: stop it after so long without any sign of work. */
  readonly idleKill: DurationMs | null;
  /** What its owner said is to follow when it ends; absent where nobody did, and where an earlier version met it. */
  readonly restart?: RestartRule;
  readonly attached: number;
  readonly fullScreen: boolean;
  readonly outputKept: boolean;
  readonly bytes: number;
  readonly rows: number;
  /** Lines that had not been seen lately, all in all. */
  readonly novel: number;
  /** The last output that was more than a repaint; the start when there was none. */
  readonly output: Mark;
  /** When anything at all was last written. */
  readonly wroteAt: MonoMs | null;
  readonly tree: TreeFacts | null;
  readonly errors: readonly ErrorClass[];
  readonly file: { readonly digest: string; readonly times: number } | null;
  /**
   * `untold`: nobody was called for it, because it stands at its prompt for a limit or until something wakes it. `wokenBy`: what that is, where its screen
   * shows it.
   */
  readonly asks: {
    readonly what: Question;
    readonly since: MonoMs;
    readonly untold?: true;
    readonly wokenBy?: "children";
  } | null;
  /** The wait that was read off the terminal, as opposed to one the agent announced itself. */
  readonly wait: "provider" | "input" | null;
  /** How its wait for a provider is known: words are believed for a bounded time. */
  readonly waitBy: "text" | "stream" | null;
  /** The wait that words speak of: since when, and `novel` when they were last seen. However often they are repeated, it is the same wait. */
  readonly textWait: { readonly since: MonoMs; readonly novel: number } | null;
  /** The last word of its program was that its provider refuses it: `novel` then. Absent or `null`: it has done something since, or never was. */
  readonly putOff?: { readonly novel: number } | null;
  /** The request that failed last and is tried again: what it failed with. Absent: none was. */
  readonly retry?: {
    readonly attempt: number;
    readonly status: number | null;
    readonly cause: "no-answer" | "no-connection" | null;
  };
  readonly tools: readonly OpenTool[];
  readonly lastSaid: string | null;
  readonly tokensAtProgress: number | null;
  /** When it said that it is done, and has not gone on since. */
  readonly completedAt: MonoMs | null;
  /** Its command speaks of the completion marker; absent where it does not, and where an earlier version met it. */
  readonly announcesMarker?: true;
  /** When it is believed, should it stay quiet; `null` when nothing is waited for. */
  readonly finishesAt: MonoMs | null;
  /** `novel` when the completion marker was seen. */
  readonly novelAtMarker: number;
  readonly turnEndedAt: Mark | null;
  /** What makes it go on by itself after its turn, by its program's own word; absent where only words do. */
  readonly wokenBy?: "children" | "schedule" | null;
  /** Why its last turn failed, by its own word, and it has not gone on since. */
  readonly failedTurn: string | null;
  readonly contextLimitAt: Mark | null;
  /** Compactions in a row with nothing new between them. */
  readonly compactions: { readonly times: number; readonly novel: number } | null;
  readonly session: { readonly id: string; readonly model: string | null } | null;
  readonly holder: "here" | "lost";
  /** Why it was last lost; absent where it never was, or was gone in an earlier version. */
  readonly lostBecause?: HolderLoss;
  readonly exit: (ExitStatus & { readonly at: MonoMs }) | null;
  /** Processes that are still there although its own is over; absent where there are none. */
  readonly leftovers?: { readonly processes: readonly RunningProcess[]; readonly since: MonoMs } | null;
}

export function newTerminal(hold: HolderInfo, born: Mark, ago: DurationMs = 0): TerminalFacts {
  return {
    pid: hold.pid,
    ...(hold.identity === undefined ? {} : { identity: hold.identity }),
    startedAt: born.at - ago,
    family: hold.family,
    startedAs: hold.family,
    structured: hold.structured,
    foreground: hold.foreground,
    startedFor: hold.taskId,
    input: hold.input ?? "none",
    eyes: [],
    lastReport: 0,
    seenAt: born.at,
    idleKill: hold.idleKillMs ?? null,
    ...(hold.restart === undefined ? {} : { restart: hold.restart }),
    ...(hold.announcesMarker === undefined ? {} : { announcesMarker: hold.announcesMarker }),
    attached: hold.foreground ? 1 : 0,
    fullScreen: false,
    outputKept: true,
    bytes: 0,
    rows: 0,
    novel: 0,
    output: born,
    wroteAt: null,
    tree: null,
    errors: [],
    file: null,
    asks: null,
    wait: null,
    waitBy: null,
    textWait: null,
    tools: [],
    lastSaid: null,
    tokensAtProgress: null,
    completedAt: null,
    finishesAt: null,
    novelAtMarker: 0,
    turnEndedAt: null,
    failedTurn: null,
    contextLimitAt: null,
    compactions: null,
    session: null,
    holder: "here",
    exit: null,
  };
}

/** Its program tells its steps itself: in a stream, by its hooks, or in the file it keeps of its conversation. */
interface OpenTool {
  readonly id: string;
  readonly name: string;
  readonly timeoutSeconds: number | null;
  /** When it was begun, however late that was heard of. */
  readonly at?: MonoMs;
}

/** Since when a child may be a tool that is open: since the first of them was begun, not since somebody heard of it or let it go on. */
export const toolsBegunAt = ({ tools }: Pick<TerminalFacts, "tools">, known: MonoMs): MonoMs =>
  Math.min(known, ...tools.map(({ at }) => at ?? known));

export const tellsSteps = ({ structured, eyes }: TerminalFacts): boolean =>
  structured || eyes.some(({ eye, sees }) => sees && eye !== "screen");

/** What its program says of its turns is its command's own word. The status of a script is the script's, which may have coped with a turn that failed. */
export const speaksForCommand = ({ structured, startedAs }: TerminalFacts): boolean =>
  structured || startedAs !== "generic";

/** It announced the completion marker and has not written it, or has gone on since. */
export const lacksMarker = ({ announcesMarker, completedAt }: TerminalFacts): boolean =>
  announcesMarker === true && completedAt === null;

/**
 * A provider's limit: a wait with a known end. It belongs to the agent and not to its terminal, so that neither a screen drawn anew nor the next life of
 * the program forgets it. Kept when it is over, to tell one that runs into the next limit at once.
 */
export interface Limit {
  readonly what: LimitKind;
  readonly pattern: string;
  readonly by: "text" | "stream";
  readonly since: MonoMs;
  /** The advertised reset and a margin; where none was named, as long as is waited without one. */
  readonly until: MonoMs;
  /** The advertised reset itself, the first moment that may be meant; absent where none was named, and in what an earlier version saved. */
  readonly resetsAt?: MonoMs;
  /** Its words name the minute, which may be any moment of it: it is waited for to the end. */
  readonly toMinute?: boolean;
  readonly named: boolean;
  /** The program says that it goes on by itself. */
  readonly continues: boolean;
  /** How often in a row it ran into a limit again soon after it had gone on. */
  readonly attempts: number;
  /**
   * New lines of the last minutes, a few of each moment at most: since when, and when they were last counted. `busy`: the moments, after its time was up,
   * in which its processes were at work as well.
   */
  readonly lines: { readonly count: number; readonly from: MonoMs; readonly at: MonoMs; readonly busy: number };
  /** How long its program said, when it was asked, that the limit still stands: only where that is a person's to know. */
  readonly putOffFor?: DurationMs;
  /** A person was told that it is over and the agent does not go on. */
  readonly told: boolean;
  /** When the agent went on or was made to; `null` while the limit stands. */
  readonly resumedAt: MonoMs | null;
}
