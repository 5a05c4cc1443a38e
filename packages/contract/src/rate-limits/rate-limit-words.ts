import { z } from "zod";
import { dimensionPattern, dimensionRule, findBadAllowance, findBadCost } from "./bucket.ts";

const Dimension = z.string().regex(dimensionPattern, dimensionRule);
const Whole = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
/** A limit over longer than this is a quota. */
const longestPeriod = 31 * 86_400_000;
const mostDimensions = 8;

/** Takes from a rate limit that is shared by everybody who names it. */
export const TakeRequest = z
  .object({
    /** What is about to be used, such as `{"requests":1,"tokens":1200}`. */
    cost: z.record(Dimension, Whole),
    /** What may be used: `most` at once, and as much again within `perMs`. The same for all who share the limit. */
    allow: z.record(
      Dimension,
      z.object({ most: Whole.min(1), perMs: z.number().int().min(1).max(longestPeriod) }).strict(),
    ),
  })
  .strict()
  .superRefine(({ cost, allow }, check) => {
    const many = Object.keys(allow).length > mostDimensions ? `at most ${mostDimensions} things in one limit` : null;
    const wrong = many ?? findBadAllowance(allow) ?? findBadCost(cost, allow);
    if (wrong !== null) check.addIssue({ code: "custom", message: wrong });
  })
  .meta({ id: "TakeRequest" });
export type TakeRequest = z.infer<typeof TakeRequest>;

/** A place in the queue: it may be used after so long, and is used up whether it is or not. */
export const Reservation = z.object({ waitMs: z.number().int().min(0) }).meta({ id: "Reservation" });
export type Reservation = z.infer<typeof Reservation>;
