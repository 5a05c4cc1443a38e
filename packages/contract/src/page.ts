import { z } from "zod";

/** Where a list goes on: to be given as `cursor` with the same query; `null` after the last page. What is in it is nobody's business. */
export const Next = z.string().nullable();
