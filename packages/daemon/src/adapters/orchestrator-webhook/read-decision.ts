import { DecisionRequest, describeIssues } from "@rouse/contract";

/** What the receiver may say at once, in the answer itself. Nothing at all is fine: it can decide later. */
export function readDecision(
  body: string | null,
): { readonly decided: DecisionRequest } | { readonly unreadable: string } | null {
  if (body === null) return { unreadable: "the answer is longer than 64 kB or was never finished" };
  const said = parse(body);
  if (typeof said !== "object" || said === null || !("decision" in said)) return null;
  // What else stands in the answer is the receiver's own business.
  const parsed = DecisionRequest.strip().safeParse(said);
  return parsed.success ? { decided: parsed.data } : { unreadable: describeIssues(parsed.error.issues, "answer") };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
