/**
 * Claude Agent SDK (`@anthropic-ai/claude-agent-sdk` 0.3). No import of it, not even of types: what is used of it is
 * described here, and e2e/adapters compiles the examples of docs/frameworks.md against the real package.
 */
import type { Agent } from "../agent/agent-api.ts";
import { type Carried, carryNudges } from "./carry-nudges.ts";
import { hearMessages, isSubagent, type Said } from "./claude-messages.ts";
import { type OpenCall, openCalls } from "./open-calls.ts";

/** Whom Claude Code asks. */
const service = "anthropic";

interface Answer {
  readonly hookSpecificOutput?: Output;
}
type Output =
  | { readonly hookEventName: "UserPromptSubmit"; readonly additionalContext: string }
  | { readonly hookEventName: "PostToolBatch"; readonly additionalContext: string }
  | { readonly hookEventName: "Stop"; readonly additionalContext: string }
  | {
      readonly hookEventName: "PreToolUse";
      readonly permissionDecision: "deny";
      readonly permissionDecisionReason: string;
    };

// biome-ignore lint/suspicious/noExplicitAny: the input of any event
type Hooks = { hooks: ((input: any) => Promise<Answer>)[] }[];

export function watchClaudeAgent(agent: Agent) {
  const calls = openCalls(agent);
  const messages = hearMessages(agent, calls);
  const nudges = carryNudges(agent);
  const tools = new Map<unknown, OpenCall>();
  let model: Promise<OpenCall | null> = Promise.resolve(null);
  let carried: Carried | null = null;

  /** Claude is about to be asked, with the nudges that wait. */
  function ask(hookEventName: "UserPromptSubmit" | "PostToolBatch" | "Stop"): Answer {
    unanswered((call) => call.cancel()); // one that nothing was heard of: a prompt came while Claude was at work
    model = calls.model(service).catch(() => null); // Claude Code asks whether our breaker is open or not
    if (!nudges.areWaiting()) return {};
    carried = nudges.take();
    return { hookSpecificOutput: { hookEventName, additionalContext: carried.texts.join("\n") } };
  }

  function answered(): void {
    void model.then((call) => call?.end());
    carried?.answered();
  }

  function unanswered(how: (call: OpenCall) => void): void {
    void model.then((call) => call !== null && how(call));
    carried?.unanswered();
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
    UserPromptSubmit: listen(() => ask("UserPromptSubmit")),
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
    /** The messages of `query()`, passed on as they are. */
    async *watch<M extends object>(query: AsyncIterable<M>): AsyncGenerator<M, void> {
      try {
        for await (const message of query) {
          if (messages.hear(message as unknown as Said) === "broken-off") breakOff();
          yield message;
        }
      } finally {
        breakOff();
      }
    },
    /** To go on with this conversation: `options.resume`. */
    session: messages.session,
  };
}

/** Whatever goes wrong in here is none of Claude's business. */
const listen = (hook: (said: Said) => Answer | Promise<Answer>): Hooks => [
  {
    hooks: [
      async (said: Said) =>
        Promise.resolve(said)
          .then(hook)
          .catch(() => ({})),
    ],
  },
];
