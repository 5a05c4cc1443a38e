import type {
  AgentFamily,
  AgentInput,
  ExitStatus,
  HolderInfo,
  RestartRule,
  TreeTier,
  UserPattern,
} from "@rouse/contract";
import { takesMessages } from "@rouse/core";

// What lies in an agent's folder as JSON. Types only: whoever reads a file that somebody may have edited has schemas for them (read-holder-files.ts).

/** How a holder reads its agent's terminal; the monitor sends it anew when the policy changes. */
export interface WatchSettings {
  readonly patterns: readonly UserPattern[];
  /** Text that says the work is done. */
  readonly completionMarker: string;
}

/** Everything needed to start an agent, and to start it again the same way. */
export interface Spec {
  readonly agentId: string;
  readonly agentType: string | null;
  readonly taskId: string | null;
  readonly policy: string | null;
  readonly incarnation: number;
  /** The database it is started for; absent or `null`: that of the first monitor that comes. */
  readonly store?: string | null | undefined;
  readonly command: readonly string[];
  /** What this life is started with instead, when its program goes on with a conversation it had. */
  readonly resumed?: readonly string[] | undefined;
  /** That conversation. */
  readonly session?: string | undefined;
  /** What is typed into its program when that shows its input. */
  readonly opening?: string | undefined;
  readonly cwd: string;
  /** The whole environment, the agent's own token included: the file is for its owner only. */
  readonly env: Readonly<Record<string, string>>;
  /** A terminal of its own, or pipes when it was started in the middle of some. */
  readonly io: "terminal" | "pipes";
  readonly foreground: boolean;
  readonly family: AgentFamily;
  readonly structured: boolean;
  readonly cols: number;
  readonly rows: number;
  /** How much of the output is kept. */
  readonly keepBytes: number;
  readonly watch: WatchSettings;
  /** Its owner's own rule: stop it after so long without any sign of work. Files of an earlier version do not have it. */
  readonly idleKillMs?: number | null | undefined;
  /** What follows when it ends. Files of an earlier version do not have it, nor has what was started in a person's terminal. */
  readonly restart?: RestartRule | undefined;
}

/** A process, told from another that got the same number later by when it was started (clock ticks since boot). */
export interface ProcessId {
  readonly pid: number;
  readonly startTicks: number;
}

/** Who holds an agent. The file exists for as long as the name is taken, and is stale when its `holder` process is gone. */
export interface HolderFile {
  readonly agentId: string;
  readonly incarnation: number;
  readonly holder: ProcessId;
  readonly agent: ProcessId | null;
  readonly socket: string;
  readonly tier: TreeTier;
  /** Folder of the agent's control group. */
  readonly cgroup: string | null;
  /** Found in the environment of every process of the tree that did not clean it. */
  readonly mark: string;
  readonly startedAt: number;
  /** The database it belongs to, `null` before the first monitor came. Holders of earlier versions have none, and ask for no secret. */
  readonly store?: string | null | undefined;
  /** When it left processes: which, and the homes of Codex it ran with, because a server there may be its to end. */
  readonly left?: { readonly known: readonly ProcessId[]; readonly codexHomes: readonly string[] } | undefined;
}

export interface ExitFile {
  readonly incarnation: number;
  readonly at: number;
  readonly exit: ExitStatus;
  /** When a person said, while no monitor ran, that it is to stay down. */
  readonly keptDownAt?: number | undefined;
}

/** What its owner said of it when it was started. */
export const wishesOf = (spec: Spec): Pick<HolderInfo, "idleKillMs" | "restart" | "announcesMarker"> => ({
  idleKillMs: spec.idleKillMs ?? null,
  ...(spec.restart === undefined ? {} : { restart: spec.restart }),
  ...(announcesMarker(spec) ? { announcesMarker: true } : {}),
});

/** Whoever is told in its prompt to write the marker when it is done will write it when it is done. */
const announcesMarker = ({ command, watch: { completionMarker } }: Spec): boolean =>
  completionMarker.trim() !== "" && command.some((word) => word.includes(completionMarker.trim()));

/**
 * How words can reach the agent. One whose stream is read has no screen that would show where to type, and what a program that is not known would do with
 * a line and Enter nobody can tell.
 */
export function inputOf(
  { command, io, structured, family }: Spec,
  now: InputNow = { family, hooks: false, steer: false },
): AgentInput {
  if (structured && takesMessages(command)) return "stdin";
  if (now.hooks) return "hook";
  if (io !== "terminal" || structured || now.family === "generic") return "none";
  return now.steer ? "steer" : "terminal";
}

/** What runs, whether its hooks will ask for words before it rests, and whether words can be put into its turn. */
interface InputNow {
  readonly family: AgentFamily;
  readonly hooks: boolean;
  readonly steer: boolean;
}
