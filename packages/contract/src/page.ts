import { z } from "zod";

/** Where a list goes on: pass it as `cursor` with the same query; `null` after the last page. Its content is opaque. */
export const Next = z.string().nullable();
