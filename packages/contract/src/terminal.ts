import { z } from "zod";

/** Programs whose terminals and streams are known. `generic` is every other command. */
export const agentFamilies = ["claude-code", "codex", "gemini-cli", "opencode", "aider", "generic"] as const;
export const AgentFamily = z.enum(agentFamilies).meta({ id: "AgentFamily" });
export type AgentFamily = z.infer<typeof AgentFamily>;

/**
 * What a person is wanted for: to allow something, to answer, to approve a plan, to trust a folder, to log in, to allow a key, to pay, to tell it that its limit is over, to look at an error that
 * ended its turn, to say what is next. `draft`: its input line holds words that nobody has sent. `input`: its process waits in a read of the terminal, for
 * what nobody knows.
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

/** By what a program is seen, best first: its stream of JSON, its hooks, the file it keeps of its conversation, its screen. */
export const Eye = z.enum(["stream", "hooks", "session-file", "screen"]).meta({ id: "ProgramEye" });
export type Eye = z.infer<typeof Eye>;

/** An eye that is open, or why it is not. */
export const EyeState = z
  .object({ eye: Eye, sees: z.boolean(), because: z.string().max(200).nullable() })
  .meta({ id: "EyeState" });
export type EyeState = z.infer<typeof EyeState>;

/** Why a provider puts an agent off: its quota is used up, it asks too often, the provider has too much to do. */
export const LimitKind = z.enum(["usage", "rate", "overloaded"]).meta({ id: "LimitKind" });
export type LimitKind = z.infer<typeof LimitKind>;

/**
 * One thing a holder saw in an agent's terminal or stream. Content stays on the agent's machine: a sight holds digests, names of
 * patterns and, of errors, the line with everything particular masked.
 */
export const Sight = z
  .discriminatedUnion("kind", [
    /** `rows` were added (a repaint adds none); `novel` of the lines had not been seen lately. */
    z.object({ kind: z.literal("output"), rows: z.number().int(), novel: z.number().int() }),
    /**
     * The provider put the agent off, and said for how long if it did. `by`: in a field of its stream, hooks or session file, or (also when not said) in
     * words. `continues`: the program says that it goes on by itself.
     */
    z.object({
      kind: z.literal("rate-limited"),
      pattern: name,
      resetsInMs: ms.nullable(),
      /** How much later it may be meant: a minute where the minute is named, 0 where the second is; absent where nobody knows. */
      withinMs: ms.optional(),
      by: z.enum(["text", "stream"]).optional(),
      what: LimitKind.optional(),
      continues: z.boolean().optional(),
    }),
    /** `wokenBy`: at its prompt it shows that it has left something running, which wakes it. */
    z.object({ kind: z.literal("asks"), what: Question, pattern: name, wokenBy: z.literal("children").optional() }),
    z.object({ kind: z.literal("asks-no-more") }),
    /** `text` is masked: the class of the error, not the error. */
    z.object({ kind: z.literal("error"), pattern: name, digest, text: z.string().max(200) }),
    /** The marker stands at the end of what the agent said. */
    z.object({ kind: z.literal("completed"), pattern: name }),
    z.object({ kind: z.literal("context-limit"), pattern: name }),
    z.object({ kind: z.literal("file-touched"), digest }),
    /** From here on only streams, hooks and session files tell. */
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
    /** An empty `resultDigest`: what came of it could not be read. */
    z.object({
      kind: z.literal("tool-ended"),
      id: name,
      failed: z.boolean(),
      resultDigest: digest,
      resultClass: digest.optional(),
      /** It never ran: a call beside it failed, or a person said no. */
      cancelled: z.boolean().optional(),
    }),
    /** Tokens of the whole run so far. */
    z.object({ kind: z.literal("tokens"), total: z.number().int().nonnegative() }),
    /** A request failed and its program tries it again. `status`: what was answered; `cause`: why nothing was, where its words tell. */
    z.object({
      kind: z.literal("retries"),
      attempt: z.number().int(),
      inMs: ms,
      status: z.number().int().nullable(),
      cause: z.enum(["no-answer", "no-connection"]).optional(),
    }),
    z.object({ kind: z.literal("compacts"), over: z.boolean() }),
    /**
     * A nudge of ours is part of its conversation: its model has it with the next request. `by: "screen"`: its program took the words in, as far as its
     * screen shows; what its model has of them nobody can tell.
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
export type SightKind = Sight["kind"];

/** What the whole tree of processes used so far. Time and bytes only grow, also when a child ends. */
export const ProcessFacts = z
  .object({
    processes: z.number().int().nonnegative(),
    cpuMs: ms,
    ioBytes: ms,
    memoryBytes: ms,
    /** Its network connections, and what went through them so far in both directions. `null`, here and below: nobody could look. */
    network: z.object({ sockets: z.number().int().nonnegative(), bytes: ms }).nullable().optional(),
    /** How often something below its working folder was seen to change so far. */
    files: z.object({ changes: z.number().int().nonnegative() }).nullable().optional(),
    /** When the youngest process of the tree, the agent itself left out, was started; `null` when it has no children. */
    youngestChildAt: z.number().nullable().optional(),
    /** A process of the tree waits in a read of the terminal. */
    readsTerminal: z.boolean().nullable().optional(),
  })
  .meta({ id: "ProcessFacts" });
export type ProcessFacts = z.infer<typeof ProcessFacts>;

/** Why a process is over: of its own accord, a person at its terminal, our own stop, somebody else's signal, or nobody saw. */
export const ExitCause = z.enum(["by-itself", "person", "stopped", "killed", "unseen"]).meta({ id: "ExitCause" });
export type ExitCause = z.infer<typeof ExitCause>;

/** `code` and `signal` are both `null` when nobody saw the end. */
export const ExitStatus = z
  .object({ code: z.number().int().nullable(), signal: z.string().max(20).nullable(), cause: ExitCause })
  .meta({ id: "ExitStatus" });
export type ExitStatus = z.infer<typeof ExitStatus>;

/** How words reach an agent, best first: lines of JSON it reads, what its hooks answer, its program's own way into a turn, its terminal, or not at all. */
export const AgentInput = z.enum(["stdin", "hook", "steer", "terminal", "none"]).meta({ id: "AgentInput" });
export type AgentInput = z.infer<typeof AgentInput>;

export const RunningProcess = z.object({ pid: z.number().int(), name: z.string().max(100) });
export type RunningProcess = z.infer<typeof RunningProcess>;

/** What a user may add to the shipped patterns. Always matched in linear time, whatever is written. */
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
