import { describeIssues, Fault } from "@rouse/contract";
import type { z } from "zod";

/** An empty body asks for the defaults. */
export function readRequest<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  throw new Fault("bad-request", describeIssues(parsed.error.issues, "request"));
}
