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

// What lies in an agent's folder as JSON. The daemon reads files that somebody may have edited with schemas
// (read-holder-files.ts).

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
  /** The command of this life instead, when the program resumes a conversation. */
  readonly resumed?: readonly string[] | undefined;
  /** The id of that conversation. */
  readonly session?: string | undefined;
  /** A text that is typed as soon as the program shows its input. */
  readonly opening?: string | undefined;
  readonly cwd: string;
  /** The whole environment, the agent's own token included: the file is for its owner only. */
  readonly env: Readonly<Record<string, string>>;
  /** A terminal of its own, or pipes when it was started inside a pipeline. */
  readonly io: "terminal" | "pipes";
  readonly foreground: boolean;
  readonly family: AgentFamily;
  readonly structured: boolean;
  readonly cols: number;
  readonly rows: number;
  /** How much of the output is kept. */
  readonly keepBytes: number;
  readonly watch: WatchSettings;
  /** Its owner's rule: stop it after so long without any sign of work. Files of an earlier version do not have it. */
  readonly idleKillMs?: number | null | undefined;
  /**
   * What follows when it ends. Absent in files of an earlier version, and for agents started in a person's terminal.
   */
  readonly restart?: RestartRule | undefined;
}

/** A process. Its start (clock ticks since boot) tells it from a later process with the same number. */
export interface ProcessId {
  readonly pid: number;
  readonly startTicks: number;
}

/** Who holds an agent. The file exists while the name is taken, and is stale when its `holder` process is gone. */
export interface HolderFile {
  readonly agentId: string;
  readonly incarnation: number;
  readonly holder: ProcessId;
  readonly agent: ProcessId | null;
  readonly socket: string;
  readonly tier: TreeTier;
  /** Folder of the agent's control group. */
  readonly cgroup: string | null;
  /** Value of `ROUSE_MARK` in the environment of every process of the tree that did not clear its environment. */
  readonly mark: string;
  readonly startedAt: number;
  /** The database it belongs to, `null` before the first monitor came. Earlier versions have none, and no secret. */
  readonly store?: string | null | undefined;
  /** Processes that outlived the agent, and the Codex homes it ran with: a server there may be left over as well. */
  readonly left?: { readonly known: readonly ProcessId[]; readonly codexHomes: readonly string[] } | undefined;
}

export interface ExitFile {
  readonly incarnation: number;
  readonly at: number;
  readonly exit: ExitStatus;
  /** When a person ordered, while no monitor ran, that it stays down. */
  readonly keptDownAt?: number | undefined;
}

/** What the owner asked for when the agent was started. */
export const wishesOf = (spec: Spec): Pick<HolderInfo, "idleKillMs" | "restart" | "announcesMarker"> => ({
  idleKillMs: spec.idleKillMs ?? null,
  ...(spec.restart === undefined ? {} : { restart: spec.restart }),
  ...(announcesMarker(spec) ? { announcesMarker: true } : {}),
});

/** An agent whose command contains the completion marker was asked to write it when it is done. */
const announcesMarker = ({ command, watch: { completionMarker } }: Spec): boolean =>
  completionMarker.trim() !== "" && command.some((word) => word.includes(completionMarker.trim()));

/**
 * The best way to give the agent a message now. An agent whose stream is read has no screen that would show where to
 * type. In an unknown program a typed line and Enter could do anything.
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

interface InputNow {
  /** The program that runs now. */
  readonly family: AgentFamily;
  /** A hook will be called before the turn ends. */
  readonly hooks: boolean;
  /** A message can be put into the turn under way. */
  readonly steer: boolean;
}
