import { z } from "zod";

/** Programs whose terminals and streams are known. `generic` is every other command. */
export const agentFamilies = ["claude-code", "codex", "gemini-cli", "opencode", "aider", "generic"] as const;
export const AgentFamily = z.enum(agentFamilies).meta({ id: "AgentFamily" });
export type AgentFamily = z.infer<typeof AgentFamily>;

/**
 * What a person is needed for: to allow something, to answer, to approve a plan, to trust a folder, to log in, to allow
 * a key, to pay, to tell it that its limit is over, to look at an error that ended its turn, to say what is next.
 * `draft`: its input line holds words that were not sent. `input`: its process waits in a read of the terminal, the
 * reason is not known.
 */
export const Question = z
  .enum([
    "permission",
    "question",
    "plan",
    "trust",
    "login",
    "api-key",
    "credits",
    "limit",
    "api-error",
    "prompt",
    "draft",
    "input",
  ])
  .meta({ id: "Question" });
export type Question = z.infer<typeof Question>;

const digest = z.string().max(64);
const name = z.string().max(200);
const ms = z.number().finite().nonnegative();

/** The eyes on a program, best first: its stream of JSON, its hooks, its session file, its screen. */
export const Eye = z.enum(["stream", "hooks", "session-file", "screen"]).meta({ id: "ProgramEye" });
export type Eye = z.infer<typeof Eye>;

/** An eye that is open, or why it is not. */
export const EyeState = z
  .object({ eye: Eye, sees: z.boolean(), because: z.string().max(200).nullable() })
  .meta({ id: "EyeState" });
export type EyeState = z.infer<typeof EyeState>;

/** Why a provider turns an agent away: its quota is used up, it asks too often, or the provider is overloaded. */
export const LimitKind = z.enum(["usage", "rate", "overloaded"]).meta({ id: "LimitKind" });
export type LimitKind = z.infer<typeof LimitKind>;

/**
 * One thing a holder saw in an agent's terminal or stream. Content stays on the agent's machine: a sight holds digests,
 * names of patterns and, of errors, the line with everything particular masked.
 */
export const Sight = z
  .discriminatedUnion("kind", [
    /** `rows` were added (a repaint adds none); `novel` of the lines had not been seen lately. */
    z.object({ kind: z.literal("output"), rows: z.number().int(), novel: z.number().int() }),
    /**
     * The provider turned the agent away, and perhaps said for how long. `by`: in a field of its stream, hooks or
     * session file, or (also when absent) in words. `continues`: the program says that it goes on by itself.
     */
    z.object({
      kind: z.literal("rate-limited"),
      pattern: name,
      resetsInMs: ms.nullable(),
      /** How much later it may be: a minute where the minute is named, 0 where the second is; absent where unknown. */
      withinMs: ms.optional(),
      by: z.enum(["text", "stream"]).optional(),
      what: LimitKind.optional(),
      continues: z.boolean().optional(),
    }),
    /** `wokenBy`: it is at its prompt, and shows that something it left running will wake it. */
    z.object({ kind: z.literal("asks"), what: Question, pattern: name, wokenBy: z.literal("children").optional() }),
    z.object({ kind: z.literal("asks-no-more") }),
    /** `text` is masked: the class of the error, not the error. */
    z.object({ kind: z.literal("error"), pattern: name, digest, text: z.string().max(200) }),
    /** The marker stands at the end of what the agent said. */
    z.object({ kind: z.literal("completed"), pattern: name }),
    z.object({ kind: z.literal("context-limit"), pattern: name }),
    z.object({ kind: z.literal("file-touched"), digest }),
    /** The kinds from here on come only from streams, hooks and session files. */
    z.object({ kind: z.literal("session"), id: name, model: name.nullable(), version: name.nullable() }),
    z.object({ kind: z.literal("model-asked") }),
    /** `class`: the text with numbers, ids and times masked. Holders of an earlier version do not tell it. */
    z.object({ kind: z.literal("said"), digest, class: digest.optional() }),
    z.object({
      kind: z.literal("tool-started"),
      id: name,
      name,
      argsDigest: digest,
      timeoutSeconds: z.number().nonnegative().nullable(),
    }),
    z.object({ kind: z.literal("tool-goes-on"), id: name }),
    /** An empty `resultDigest`: the result could not be read. */
    z.object({
      kind: z.literal("tool-ended"),
      id: name,
      failed: z.boolean(),
      resultDigest: digest,
      resultClass: digest.optional(),
      /** The call never ran: one beside it failed, or a person said no. */
      cancelled: z.boolean().optional(),
    }),
    /** Tokens of the whole run so far. */
    z.object({ kind: z.literal("tokens"), total: z.number().int().nonnegative() }),
    /** A request failed and is tried again. `status`: of the answer; `cause`: why there was none. */
    z.object({
      kind: z.literal("retries"),
      attempt: z.number().int(),
      inMs: ms,
      status: z.number().int().nullable(),
      cause: z.enum(["no-answer", "no-connection"]).optional(),
    }),
    z.object({ kind: z.literal("compacts"), over: z.boolean() }),
    /**
     * A nudge is part of its conversation: its model gets it with the next request. `by: "screen"`: as far as the
     * screen shows, the program took the words; what its model got is not known.
     */
    z.object({ kind: z.literal("nudge-read"), nudge: name, by: z.literal("screen").optional() }),
    /** `wokenBy`: it goes on by itself when what it left running is done, or when its schedule says so. */
    z.object({
      kind: z.literal("turn-ended"),
      outcome: z.enum(["success", "failure"]),
      reason: name,
      wokenBy: z.enum(["children", "schedule"]).optional(),
    }),
  ])
  .meta({ id: "Sight" });
export type Sight = z.infer<typeof Sight>;

/** What the whole tree of processes used so far. Time and bytes only grow, also when a child ends. */
export const ProcessFacts = z
  .object({
    processes: z.number().int().nonnegative(),
    cpuMs: ms,
    ioBytes: ms,
    memoryBytes: ms,
    /**
     * Its network connections, and the bytes through them so far in both directions. `null`, here and below: not known.
     */
    network: z.object({ sockets: z.number().int().nonnegative(), bytes: ms }).nullable().optional(),
    /** How many changes were seen below its working folder so far. */
    files: z.object({ changes: z.number().int().nonnegative() }).nullable().optional(),
    /** When the youngest process of the tree, besides the agent itself, was started; `null` when there is no other. */
    youngestChildAt: z.number().nullable().optional(),
    /** A process of the tree waits in a read of the terminal. */
    readsTerminal: z.boolean().nullable().optional(),
  })
  .meta({ id: "ProcessFacts" });
export type ProcessFacts = z.infer<typeof ProcessFacts>;

/** Why a process ended: by itself, by a person at its terminal, by our own stop, by another's signal, or unseen. */
export const ExitCause = z.enum(["by-itself", "person", "stopped", "killed", "unseen"]).meta({ id: "ExitCause" });
export type ExitCause = z.infer<typeof ExitCause>;

/** `code` and `signal` are both `null` when the end was not seen. */
export const ExitStatus = z
  .object({ code: z.number().int().nullable(), signal: z.string().max(20).nullable(), cause: ExitCause })
  .meta({ id: "ExitStatus" });
export type ExitStatus = z.infer<typeof ExitStatus>;

/**
 * How a message reaches an agent, best first: lines of JSON it reads, answers to its hooks, its program's own way into
 * a turn, its terminal, or not at all.
 */
export const AgentInput = z.enum(["stdin", "hook", "steer", "terminal", "none"]).meta({ id: "AgentInput" });
export type AgentInput = z.infer<typeof AgentInput>;

export const RunningProcess = z.object({ pid: z.number().int(), name: z.string().max(100) });
export type RunningProcess = z.infer<typeof RunningProcess>;

/** A pattern that a user adds to the shipped ones. Always matched in linear time. */
export const patternKinds = [
  "rate-limit",
  "asks-permission",
  "asks-question",
  "at-prompt",
  "error",
  "completed",
  "context-limit",
  "file",
] as const;
export const UserPattern = z
  .strictObject({
    kind: z.enum(patternKinds).describe("what a match means"),
    pattern: z.string().min(1).max(1000).describe("a regular expression (RE2 syntax) for one line"),
    family: AgentFamily.optional().describe("only for this program; for all when not set"),
    name: z.string().max(100).optional().describe("what it is called in findings; its text when not set"),
  })
  .meta({ id: "UserPattern" });
export type UserPattern = z.infer<typeof UserPattern>;
export type PatternKind = (typeof patternKinds)[number];
