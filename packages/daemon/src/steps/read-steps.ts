import { describeIssues, printable, StepEvent, type StepsAck } from "@rouse/contract";
import { digestEvent } from "@rouse/core";

export interface ReadSteps {
  readonly events: readonly StepEvent[];
  readonly rejected: StepsAck["rejected"];
}

const longestProblem = 300;

/** What an agent told of its steps, from number `from` on, checked one by one. This is the edge: after it there are digests, and text only where the user wants it kept. */
export function readSteps(sent: readonly unknown[], keepsText: boolean, from = 0): ReadSteps {
  const events: StepEvent[] = [];
  const rejected: StepsAck["rejected"] = [];
  for (const [index, one] of sent.entries()) {
    const parsed = StepEvent.safeParse(one);
    if (parsed.success) events.push(digestEvent(parsed.data, keepsText));
    else
      rejected.push({
        index: from + index,
        problem: printable(describeIssues(parsed.error.issues, "step"), longestProblem),
      });
  }
  return { events, rejected };
}
