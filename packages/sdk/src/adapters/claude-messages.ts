/** What the messages of Claude Agent SDK say beyond its hooks: tokens, limits, the session. */
import type { Agent } from "../agent/agent-api.ts";
import type { openCalls } from "./open-calls.ts";

/** Whatever else is in them is not read. */
export interface Said {
  readonly [field: string]: unknown;
}

/** What a subagent does is told; nudges are for the agent itself. */
export const isSubagent = (said: Said): boolean => typeof said["agent_id"] === "string";

export function hearMessages(agent: Agent, calls: ReturnType<typeof openCalls>) {
  let session: string | null = null;
  let told = 0;
  let lastCounted: unknown;

  function count(tokens: number): void {
    told += tokens;
    agent.tokens(tokens);
  }

  /** `broken-off`: the turn is over, and Claude did not end it. */
  function hear(message: Said): "broken-off" | null {
    try {
      read(message);
    } catch {
      // A message of a version that says it otherwise.
    }
    return message["type"] === "result" && message["subtype"] !== "success" ? "broken-off" : null;
  }

  function read(message: Said): void {
    if (typeof message["session_id"] === "string") session = message["session_id"];
    switch (message["type"]) {
      case "assistant": {
        // What Claude Code says in the model's place, when it could not be asked, has an error.
        if (message["error"] !== undefined) return;
        calls.answered();
        const { id, usage } = message["message"] as Said;
        // One message for each block of an answer, each with the usage of the whole.
        if (id !== lastCounted) count(sumOf(usage, /_tokens$/));
        lastCounted = id;
        return;
      }
      case "result": {
        const models = Object.values((message["modelUsage"] ?? {}) as Said);
        const total = models.reduce<number>((sum, usage) => sum + sumOf(usage, /Tokens$/), 0);
        // The total of the session is exact; it begins anew with `/clear`.
        if (total > told) count(total - told);
        told = total;
        return;
      }
      case "rate_limit_event": {
        const { status, resetsAt } = message["rate_limit_info"] as Said;
        if (status === "rejected") calls.limited(typeof resetsAt === "number" ? resetsAt * 1000 : undefined);
        return;
      }
      case "system":
        if (message["subtype"] === "api_retry" && [429, 529].includes(Number(message["error_status"])))
          calls.limited(Date.now() + Number(message["retry_delay_ms"]));
    }
  }

  return { hear, session: (): string | null => session };
}

const sumOf = (usage: unknown, names: RegExp): number =>
  Object.entries((usage ?? {}) as Said).reduce(
    (sum, [name, value]) => (names.test(name) && typeof value === "number" ? sum + value : sum),
    0,
  );
