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

/** A class of error, when it was seen lately, and how many new lines there were by then. */
export interface ErrorClass {
  readonly digest: string;
  /** Masked: the class, not the single error. */
  readonly text: string;
  readonly seen: readonly { readonly at: MonoMs; readonly novel: number }[];
}

/** The ways in which the processes of an agent are looked at. */
export type TreeEye = "cpu" | "disk" | "network" | "files";

/** What the process tree used up to the last reading, and when it was last seen to work. */
export interface TreeFacts {
  readonly at: MonoMs;
  readonly cpuMs: number;
  readonly ioBytes: number;
  readonly processes: number;
  readonly memoryBytes: number;
  /** `null`, here and below: nobody could look. */
  readonly network: { readonly sockets: number; readonly bytes: number } | null;
  readonly files: { readonly changes: number } | null;
  /** The last known values of both, however old. */
  readonly lastRead: { readonly bytes: number | null; readonly changes: number | null };
  readonly readsTerminal: boolean | null;
  /** When its youngest child was started; `null` when it has none. */
  readonly youngestChildAt: MonoMs | null;
  /** The first reading shows no rate, so the tree counts as busy until the second. */
  readonly busyAt: MonoMs;
  /** When anything last stirred in the tree: a little CPU or IO, a byte, a file, a new child. */
  readonly stirredAt: MonoMs;
  /** The eyes that saw it work then; none at the first reading. */
  readonly busyBy: readonly TreeEye[];
}

/** What is known of a held agent from its terminal, stream and processes. Every list is bounded. */
export interface TerminalFacts {
  readonly pid: number;
  /** How its processes are told from all others, by its holder; absent where the holder never told. */
  readonly identity?: LifeIdentity;
  /** When its process started, by the machine's clocks, for people. Absent in records of an earlier version. */
  readonly startedAt?: MonoMs;
  readonly family: AgentFamily;
  /** The program that its command names; `generic` for a script. Absent in records of an earlier version. */
  readonly startedAs?: AgentFamily;
  readonly structured: boolean;
  readonly foreground: boolean;
  /** The task it was started for. */
  readonly startedFor: string | null;
  /** The channels to the agent, besides acknowledgements. */
  readonly input: AgentInput;
  /** The eyes on it; empty when its holder does not tell. */
  readonly eyes: readonly EyeState[];
  /** Number of the last report that was read. */
  readonly lastReport: number;
  /** When that report was made: late reports are judged as of then. */
  readonly seenAt: MonoMs;
  /** The owner's rule: stop the agent after so long without any sign of work. */
  readonly idleKill: DurationMs | null;
  /** What follows its exit by the owner's word; absent where nobody said, and in records of an earlier version. */
  readonly restart?: RestartRule;
  readonly attached: number;
  readonly fullScreen: boolean;
  readonly outputKept: boolean;
  readonly bytes: number;
  readonly rows: number;
  /** How many lines were new. */
  readonly novel: number;
  /** The last output that was more than a repaint, or the start. */
  readonly output: Mark;
  /** When anything at all was last written. */
  readonly wroteAt: MonoMs | null;
  readonly tree: TreeFacts | null;
  readonly errors: readonly ErrorClass[];
  readonly file: { readonly digest: string; readonly times: number } | null;
  /**
   * `untold`: nobody was called, because it stands at its prompt for a limit or until something wakes it. `wokenBy`:
   * what wakes it, where its screen shows that.
   */
  readonly asks: {
    readonly what: Question;
    readonly since: MonoMs;
    readonly untold?: true;
    readonly wokenBy?: "children";
  } | null;
  /** The wait that the terminal shows, as opposed to an announced one. */
  readonly wait: "provider" | "input" | null;
  /** How a wait for a provider is known: text is believed for a bounded time. */
  readonly waitBy: "text" | "stream" | null;
  /**
   * The wait that text claims: since when, and `novel` at its last sight. Repeating the text does not begin another
   * wait.
   */
  readonly textWait: { readonly since: MonoMs; readonly novel: number } | null;
  /**
   * The program's last word was a refusal by its provider: `novel` then. `null` or absent: it has done something since.
   */
  readonly putOff?: { readonly novel: number } | null;
  /** The failure of the last request that is tried again; absent when there was none. */
  readonly retry?: {
    readonly attempt: number;
    readonly status: number | null;
    readonly cause: "no-answer" | "no-connection" | null;
  };
  readonly tools: readonly OpenTool[];
  readonly lastSaid: string | null;
  readonly tokensAtProgress: number | null;
  /** When it said that it is done, unless it has gone on since. */
  readonly completedAt: MonoMs | null;
  /** Its command mentions the completion marker; absent where it does not, and in records of an earlier version. */
  readonly announcesMarker?: true;
  /** When its word is believed, should it stay quiet; `null` when nothing is waited for. */
  readonly finishesAt: MonoMs | null;
  /** `novel` when the completion marker was seen. */
  readonly novelAtMarker: number;
  readonly turnEndedAt: Mark | null;
  /** What wakes it after its turn, by its program's word; absent where only a message does. */
  readonly wokenBy?: "children" | "schedule" | null;
  /** Why its last turn failed, by its program's word, unless it has gone on since. */
  readonly failedTurn: string | null;
  readonly contextLimitAt: Mark | null;
  /** Compactions in a row with nothing new between them. */
  readonly compactions: { readonly times: number; readonly novel: number } | null;
  readonly session: { readonly id: string; readonly model: string | null } | null;
  readonly holder: "here" | "lost";
  /** Why its holder was last lost; absent where it never was, and in records of an earlier version. */
  readonly lostBecause?: HolderLoss;
  readonly exit: (ExitStatus & { readonly at: MonoMs }) | null;
  /** Processes that outlived its own; absent where there are none. */
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

/** A tool that runs, as the program told it: in its stream, by its hooks, or in its session file. */
interface OpenTool {
  readonly id: string;
  readonly name: string;
  readonly timeoutSeconds: number | null;
  /** When it began, however late that was heard of. */
  readonly at?: MonoMs;
}

/** Since when a child may be an open tool: since the first of them began, however late that was heard of. */
export const toolsBegunAt = ({ tools }: Pick<TerminalFacts, "tools">, known: MonoMs): MonoMs =>
  Math.min(known, ...tools.map(({ at }) => at ?? known));

/** The program itself tells its steps: in a stream, by its hooks, or in its session file. */
export const tellsSteps = ({ structured, eyes }: TerminalFacts): boolean =>
  structured || eyes.some(({ eye, sees }) => sees && eye !== "screen");

/**
 * What the program says of its turns holds for the command. A script is different: it may have coped with a failed
 * turn.
 */
export const speaksForCommand = ({ structured, startedAs }: TerminalFacts): boolean =>
  structured || startedAs !== "generic";

/** It announced the completion marker and has not written it, or has gone on since. */
export const lacksMarker = ({ announcesMarker, completedAt }: TerminalFacts): boolean =>
  announcesMarker === true && completedAt === null;

/**
 * A provider's limit: a wait with a known end. It belongs to the agent and not to its terminal, so that a redrawn
 * screen or the next life does not forget it. It is kept when over, to notice an agent that runs into the next limit at
 * once.
 */
export interface Limit {
  readonly what: LimitKind;
  readonly pattern: string;
  readonly by: "text" | "stream";
  readonly since: MonoMs;
  /** The named reset with a margin; without one, as long as the policy waits. */
  readonly until: MonoMs;
  /** The named reset itself, at the earliest; absent where none was named, and in records of an earlier version. */
  readonly resetsAt?: MonoMs;
  /** The reset is named to the minute, so the whole minute is waited for. */
  readonly toMinute?: boolean;
  readonly named: boolean;
  /** The program says that it will go on by itself. */
  readonly continues: boolean;
  /** How often in a row the agent met a limit again soon after it had gone on. */
  readonly attempts: number;
  /**
   * New lines of the last minutes, a few per moment: since when, and when last counted. `busy`: moments after the
   * limit's end in which its processes worked as well.
   */
  readonly lines: { readonly count: number; readonly from: MonoMs; readonly at: MonoMs; readonly busy: number };
  /** How long the limit still stands by the program's answer, where that is so long that a person has to know. */
  readonly putOffFor?: DurationMs;
  /** A person was told that the limit is over and the agent does not go on. */
  readonly told: boolean;
  /** When the agent went on or was made to; `null` while the limit stands. */
  readonly resumedAt: MonoMs | null;
}
