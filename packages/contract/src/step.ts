import { z } from "zod";
import { Next } from "./page.ts";

const digest = z.string().max(128).nullish();

/**
 * One event of a run as agents and recordings tell it. Content need not leave the agent's machine: `args_digest`,
 * `text_digest` and `text_class` (the text after masking numbers, ids and times) are enough. `null` is "not recorded"
 * and never equals another `null`.
 */
export const StepEvent = z
  .object({
    kind: z.enum(["tool_call", "tool_result", "message", "error"]),
    /** Ties a result to its call where calls run side by side. */
    id: z.string().max(200).nullish(),
    tool: z.string().max(200).nullish(),
    args: z.string().nullish(),
    args_digest: digest,
    text: z.string().nullish(),
    text_digest: digest,
    text_class: digest,
    failed: z.boolean().nullish(),
    /** The call never ran: one beside it failed, or a person said no. */
    cancelled: z.boolean().nullish(),
    /** For a message: who speaks (`agent`, `user`, …). For an error: `provider`, when it is the provider's. */
    role: z.string().max(200).nullish(),
    tokens: z.number().nonnegative().nullish(),
    /** Seconds since the run began. */
    at: z.number().nullish(),
    step: z.number().nullish(),
  })
  .meta({ id: "StepEvent" });
export type StepEvent = z.infer<typeof StepEvent>;

/** Events of a run that were taken, and those that were not, numbered from 0 in the order they were sent. */
export const StepsAck = z
  .object({
    accepted: z.number().int(),
    rejected: z.array(z.object({ index: z.number().int(), problem: z.string() })),
  })
  .meta({ id: "StepsAck" });
export type StepsAck = z.infer<typeof StepsAck>;

/** A kept event, as a line of a recording. `at` counts from the first event of its trace in the same answer. */
export const KeptStep = StepEvent.extend({ trace: z.string(), at: z.number(), receivedAt: z.string() }).meta({
  id: "KeptStep",
});
export type KeptStep = z.infer<typeof KeptStep>;

/** Oldest first; the next page is older. `last` names the end of the answer, to ask later for what came after. */
export const StepPage = z
  .object({ steps: z.array(KeptStep), last: z.string().nullable(), next: Next })
  .meta({ id: "Steps" });
export type StepPage = z.infer<typeof StepPage>;

export interface StepQuery {
  /** At most so many events, the newest ones. */
  readonly limit?: number;
  /** Only what came after an event: `last` of an earlier answer. */
  readonly after?: string;
  /** `next` of the previous page. */
  readonly cursor?: string;
}
