import { z } from "zod";
import { AgentId, Id } from "./heartbeat.ts";
import { AgentFamily, AgentInput, ExitStatus, EyeState, ProcessFacts, RunningProcess, Sight } from "./terminal.ts";

const ms = z.number().finite().nonnegative();

/**
 * What a holder tells the monitor: at once when it saw something, otherwise every few seconds as a sign of life.
 * Numbered without gaps; sent again until acknowledged, so a monitor that was away hears everything once.
 */
export const HolderReport = z
  .object({
    seq: z.number().int().positive(),
    /** By the holder's wall clock; it runs on the same machine. */
    at: z.number(),
    sights: z.array(Sight).max(200),
    /** For the whole life of the process. `lastAt`: when anything at all was last written. */
    output: z.object({ bytes: ms, rows: ms, lastAt: z.number().nullable() }),
    process: ProcessFacts.nullable(),
    /** Terminals a person has open on it, the one it was started from included. */
    attached: z.number().int().nonnegative(),
    /** Its terminal shows the alternate screen, that of a full-screen program. */
    fullScreen: z.boolean(),
    outputKept: z.boolean(),
    exit: ExitStatus.nullable(),
    /** The program that runs now, where the command did not show it. Earlier versions send nothing from here on. */
    family: AgentFamily.optional(),
    eyes: z.array(EyeState).max(10).optional(),
    /** How a message reaches it now. */
    input: AgentInput.optional(),
    /** Leftovers: processes that outlived the agent's own. */
    leftovers: z.array(RunningProcess).max(100).optional(),
  })
  .meta({ id: "HolderReport" });
export type HolderReport = z.infer<typeof HolderReport>;

/**
 * What follows when an agent's process ends (`spawn --restart`). `no`: nothing. `on-failure`: it is started again, at
 * most `max` times in the policy's window, or as often as the policy says where that is `null`. `always`: also after it
 * ended well.
 */
export const RestartRule = z
  .discriminatedUnion("when", [
    z.object({ when: z.literal("no") }),
    z.object({ when: z.literal("on-failure"), max: z.number().int().positive().max(1000).nullable() }),
    z.object({ when: z.literal("always") }),
  ])
  .meta({ id: "RestartRule" });
export type RestartRule = z.infer<typeof RestartRule>;

/**
 * What tells the processes of one life from all others. It comes from the holder itself; files are believed later only
 * where they agree.
 */
export const LifeIdentity = z
  .object({ startTicks: z.number(), mark: z.string().max(100), cgroup: z.string().max(4096).nullable() })
  .meta({ id: "LifeIdentity" });
export type LifeIdentity = z.infer<typeof LifeIdentity>;

/** What the monitor needs to know about a held agent before the first report. */
export const HolderInfo = z
  .object({
    agentId: AgentId,
    agentType: Id.nullable(),
    taskId: Id.nullable(),
    /** Name of the policy it was started with; the monitor's own choice when `null`. */
    policy: Id.nullable(),
    incarnation: z.number().int().positive(),
    pid: z.number().int().positive(),
    family: AgentFamily,
    /** Its stream of JSON is read instead of its screen. */
    structured: z.boolean(),
    /** Started with `rouse run` in a person's terminal: they decide when it ends and whether it starts again. */
    foreground: z.boolean(),
    startedAt: z.number(),
    /** Absent from holders of earlier versions. */
    input: AgentInput.optional(),
    /** Its owner's rule: stop it after so long without output or any other sign of work (`spawn --idle-kill`). */
    idleKillMs: ms.nullable().optional(),
    /** Absent where none was given: as often as its policy says. */
    restart: RestartRule.optional(),
    /** Its command mentions the completion marker: an end without the marker is not the end of its work. */
    announcesMarker: z.literal(true).optional(),
    /** Absent from holders of earlier versions; it is never read from files. */
    identity: LifeIdentity.optional(),
  })
  .meta({ id: "HolderInfo" });
export type HolderInfo = z.infer<typeof HolderInfo>;

/**
 * Why a holder refuses a monitor. `other-store`: it was started for another database; `old-epoch`: it has a newer
 * monitor; `epoch-too-high`: no monitor of its store can have that epoch; `wrong-secret`: it was not shown the secret
 * in its file.
 */
export const HolderRefusal = z.enum(["old-epoch", "epoch-too-high", "other-store", "wrong-secret"]).meta({
  id: "HolderRefusal",
});
export type HolderRefusal = z.infer<typeof HolderRefusal>;

/** Why a holder cannot be used: it is gone, does not answer, or refuses us. */
export const HolderLoss = z.enum(["gone", "silent", ...HolderRefusal.options]).meta({ id: "HolderLoss" });
export type HolderLoss = z.infer<typeof HolderLoss>;

/**
 * Why an order was not carried out. Each is checked at the instant of the signal. Two are for orders of Rouse itself:
 * `too-late`, the order expired or was withdrawn; `moved-since`, the agent has shown work since its silence was decided
 * on.
 */
export const OrderRefusal = z
  .enum([
    ...HolderRefusal.options,
    "wrong-incarnation",
    "not-registered",
    "identity-changed",
    "own-group",
    "pid-refused",
    "attached",
    "too-late",
    "moved-since",
  ])
  .meta({ id: "OrderRefusal" });
export type OrderRefusal = z.infer<typeof OrderRefusal>;

/** How surely every process of an agent is found on this host. */
export const TreeTier = z.enum(["cgroup", "marked"]).meta({
  id: "TreeTier",
  description:
    "cgroup: found by their control group, which only a process that may write to others can leave; marked: found by ancestry, session and environment.",
});
export type TreeTier = z.infer<typeof TreeTier>;

/**
 * What became of an agent's turn in a server that others use, which a stop spares (Codex has one for each of its
 * homes). `none`: no turn was under way; `may-go-on`: it could not be interrupted, or is not known.
 */
export const SharedTurn = z.enum(["interrupted", "none", "may-go-on"]).meta({ id: "SharedTurn" });
export type SharedTurn = z.infer<typeof SharedTurn>;

/**
 * A process that a stop left alone because of another agent of Rouse. `runs-in-it`: that agent would have ended with
 * it, as in a terminal server; `is-another`: it is that agent, or its holder.
 */
export const SparedProcess = z
  .object({
    ...RunningProcess.shape,
    agents: z.array(z.string().max(200)).max(20),
    because: z.enum(["runs-in-it", "is-another"]),
  })
  .meta({ id: "SparedProcess" });
export type SparedProcess = z.infer<typeof SparedProcess>;

/** What a person wants to know of a stop besides that it worked. */
export const StopDetails = z.object({
  /** A process of it had the right to leave its control group, and may have left: then some may not have been found. */
  mayHaveLeft: z.literal(true).optional(),
  /** Only where such a server was spared, or goes on with the turn. */
  sharedTurn: SharedTurn.optional(),
  /** Terminal servers (tmux, screen) that the agent had started: what others had open there is gone, too. */
  servers: z.array(RunningProcess).max(20).optional(),
  spared: z.array(SparedProcess).max(20).optional(),
});
export type StopDetails = z.infer<typeof StopDetails>;

export const detailsOf = ({ mayHaveLeft, sharedTurn, servers, spared }: StopDetails): StopDetails => ({
  ...(mayHaveLeft && { mayHaveLeft }),
  ...(sharedTurn && { sharedTurn }),
  ...(servers && { servers }),
  ...(spared && { spared }),
});

/** How stopping a whole tree of processes ended. Survivors are never reported as done. */
export const StopOutcome = z
  .discriminatedUnion("kind", [
    /**
     * `tier`: how surely all of it was found. Absent from holders of earlier versions, and when only the exit is known.
     */
    z.object({
      kind: z.literal("stopped"),
      forced: z.boolean(),
      processes: z.number().int(),
      tier: TreeTier.optional(),
      ...StopDetails.shape,
    }),
    z.object({ kind: z.literal("already-over"), spared: StopDetails.shape.spared }),
    z.object({
      kind: z.literal("termination_incomplete"),
      survivors: z.array(RunningProcess).max(100),
    }),
    z.object({ kind: z.literal("refused"), because: OrderRefusal }),
  ])
  .meta({ id: "StopOutcome" });
export type StopOutcome = z.infer<typeof StopOutcome>;

/**
 * Why the holder did not give a nudge. Each is checked right before typing, and again before Enter. `refused`: the
 * program was asked, and said no.
 */
export const NudgeRefusal = z
  .enum([
    "attached",
    "asks",
    "half-typed",
    "full-screen",
    "no-input",
    "over",
    "wrong-incarnation",
    ...HolderRefusal.options,
    "not-echoed",
    "busy-screen",
    "refused",
    "expired",
    "not-registered",
  ])
  .meta({ id: "NudgeRefusal" });
export type NudgeRefusal = z.infer<typeof NudgeRefusal>;

export const NudgeDelivery = z
  .discriminatedUnion("kind", [
    /** `channel`: the way it took. `echoed`: the text was seen on the screen before Enter. */
    z.object({ kind: z.literal("sent"), channel: z.enum(["stdin", "hook", "steer", "terminal"]), echoed: z.boolean() }),
    z.object({ kind: z.literal("not-sent"), because: NudgeRefusal }),
  ])
  .meta({ id: "NudgeDelivery" });
export type NudgeDelivery = z.infer<typeof NudgeDelivery>;

/**
 * How an agent is contained that goes on in circles after it was handed to a person. `pause`: its hooks withhold its
 * tools; `interrupt`: its turn is interrupted once, in the program's own way.
 */
export const ContainmentMeans = z.enum(["pause", "interrupt"]).meta({ id: "ContainmentMeans" });
export type ContainmentMeans = z.infer<typeof ContainmentMeans>;

/**
 * Why it was not contained. `no-hooks`: no hook is called before its tools run; `not-busy`: it does not show that it is
 * at work, so the key might mean something else.
 */
export const ContainRefusal = z
  .enum([
    "no-hooks",
    "no-way",
    "not-busy",
    "asks",
    "attached",
    "over",
    "released",
    "wrong-incarnation",
    ...HolderRefusal.options,
    "not-registered",
  ])
  .meta({ id: "ContainRefusal" });
export type ContainRefusal = z.infer<typeof ContainRefusal>;

export const ContainOutcome = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("contained") }),
    z.object({ kind: z.literal("let-go") }),
    z.object({ kind: z.literal("not-contained"), because: ContainRefusal }),
  ])
  .meta({ id: "ContainOutcome" });
export type ContainOutcome = z.infer<typeof ContainOutcome>;
