/**
 * Claude Agent SDK (`@anthropic-ai/claude-agent-sdk` 0.3). No import of it, not even of types: what is used of it is
 * described here, and e2e/adapters compiles the examples of docs/frameworks.md against the real package.
 */
import type { Agent } from "../agent/agent-api.ts";
import { type Carried, carryNudges } from "./carry-nudges.ts";
import { type Answer, listen } from "./claude-hooks.ts";
import { promptWhenIdle, type Streaming } from "./claude-input.ts";
import { hearMessages, isSubagent, type Said } from "./claude-messages.ts";
import { type OpenCall, openCalls } from "./open-calls.ts";

/** Whom Claude Code asks. */
const service = "anthropic";

export function watchClaudeAgent(agent: Agent) {
  const calls = openCalls(agent);
  const messages = hearMessages(agent, calls);
  const nudges = carryNudges(agent, () => input.offer());
  const input = promptWhenIdle(nudges);
  const tools = new Map<unknown, OpenCall>();
  let model: Promise<OpenCall | null> = Promise.resolve(null);
  let carried: Carried | null = null;
  /** Those of a prompt of ours stay in the conversation, whatever prompt comes after it. */
  let prompted: Carried | null = null;

  /** Claude is about to be asked, with the nudges that wait. */
  function ask(hookEventName: "UserPromptSubmit" | "PostToolBatch" | "Stop"): Answer {
    // One that nothing was heard of: a prompt came while Claude was at work.
    void model.then((call) => call?.cancel());
    carried?.unanswered();
    carried = null;
    model = calls.model(service).catch(() => null); // Claude Code asks whether our breaker is open or not
    if (!nudges.areWaiting()) return {};
    carried = nudges.take();
    return { hookSpecificOutput: { hookEventName, additionalContext: carried.texts.join("\n") } };
  }

  function answered(): void {
    void model.then((call) => call?.end());
    carried?.answered();
    prompted?.answered();
    input.answered();
  }

  function unanswered(how: (call: OpenCall) => void): void {
    void model.then((call) => call !== null && how(call));
    carried?.unanswered();
    prompted?.unanswered();
  }

  /** The turn is over, and no hook says so: it was interrupted, broken off, or allowed no more. */
  function breakOff(): Answer {
    unanswered((call) => call.cancel());
    for (const id of tools.keys()) endTool(id, (call) => call.cancel());
    agent.idle();
    return {};
  }

  function endTool(id: unknown, how: (call: OpenCall) => void): Answer {
    const call = tools.get(id);
    tools.delete(id);
    if (call !== undefined) how(call);
    return {};
  }

  async function beginTool({ tool_use_id, tool_name, tool_input }: Said): Promise<Answer> {
    try {
      tools.set(tool_use_id, await calls.tool(String(tool_name), tool_input));
      return {};
    } catch (refused) {
      const permissionDecisionReason = (refused as Error).message;
      return {
        hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason },
      };
    }
  }

  const hooks = {
    UserPromptSubmit: listen((said) => {
      if (!isSubagent(said)) prompted = input.begins(said) ?? prompted;
      return ask("UserPromptSubmit");
    }),
    PreToolUse: listen((said) => {
      if (!isSubagent(said)) answered();
      return beginTool(said);
    }),
    PostToolUse: listen((said) => endTool(said["tool_use_id"], (call) => call.end(said["tool_response"]))),
    PostToolUseFailure: listen((said) =>
      endTool(said["tool_use_id"], (call) =>
        said["is_interrupt"] === true ? call.cancel() : call.fail(new Error(String(said["error"]))),
      ),
    ),
    PermissionDenied: listen((said) => endTool(said["tool_use_id"], (call) => call.cancel())),
    PostToolBatch: listen((said) => {
      // Of some, no hook told the end.
      for (const { tool_use_id } of said["tool_calls"] as Said[]) endTool(tool_use_id, (call) => call.cancel());
      return isSubagent(said) ? {} : ask("PostToolBatch");
    }),
    /** With nudges that wait Claude goes on once more: they would reach nobody else. */
    Stop: listen((said) => {
      answered();
      if (nudges.areWaiting() && said["stop_hook_active"] !== true) return ask("Stop");
      input.stops();
      agent.idle();
      return {};
    }),
    StopFailure: listen(({ error }) => {
      const isLimit = error === "rate_limit";
      if (isLimit) calls.limited();
      unanswered((call) => (isLimit ? call.cancel() : call.fail(new Error(String(error)))));
      return {};
    }),
    SessionEnd: listen(breakOff),
  };

  return {
    /** For `options.hooks`. */
    hooks,
    /**
     * The messages of `query()`, passed on as they are. `streaming`: its prompt is a stream, and while the session is
     * idle a nudge is a prompt of its own, with a result of its own.
     */
    async *watch<M extends object>(
      query: AsyncIterable<M> & Streaming,
      { streaming = false }: { readonly streaming?: boolean } = {},
    ): AsyncGenerator<M, void> {
      if (streaming) input.open(query);
      try {
        for await (const message of query) {
          if (messages.hear(message as unknown as Said) === "broken-off") breakOff();
          if ("type" in message && message.type === "result" && input.isOver()) {
            agent.idle(); // once more: the tokens that a result tells of are no work
            input.offer();
          }
          yield message;
        }
      } finally {
        input.close();
        breakOff();
      }
    },
    /** To go on with this conversation: `options.resume`. */
    session: messages.session,
  };
}
