import { z } from "zod";

const digest = z.string().max(128).nullish();

/**
 * One event of a run as agents and recordings tell it. Content need not leave the agent's machine: `args_digest`, `text_digest` and `text_class` (the text after masking
 * numbers, ids and times) are enough. `null` is "not recorded" and never equals another `null`.
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
    role: z.string().max(50).nullish(),
    tokens: z.number().nonnegative().nullish(),
    /** Seconds since the run began. */
    at: z.number().nullish(),
    step: z.number().nullish(),
  })
  .meta({ id: "StepEvent" });
export type StepEvent = z.infer<typeof StepEvent>;
