/**
 * Claude Agent SDK (`@anthropic-ai/claude-agent-sdk` 0.3). No import of it, not even of types: what is used of it is
 * described here, and e2e/adapters compiles the examples of docs/frameworks.md against the real package.
 */
import type { Agent } from "../agent/agent-api.ts";
import { type Carried, carryNudges } from "./carry-nudges.ts";
import { hearMessages, type Said } from "./claude-messages.ts";
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
    SessionEnd: listen(() => {
      unanswered((call) => call.cancel());
      for (const id of tools.keys()) endTool(id, (call) => call.cancel());
      return {};
    }),
  };

  return {
    /** For `options.hooks`. */
    hooks,
    /** The messages of `query()`, passed on as they are. */
    async *watch<M extends object>(query: AsyncIterable<M>): AsyncGenerator<M, void> {
      for await (const message of query) {
        try {
          messages.hear(message as unknown as Said);
        } catch {
          // A message of a version that says it otherwise.
        }
        yield message;
      }
    },
    /** To go on with this conversation: `options.resume`. */
    session: messages.session,
  };
}

/** What a subagent does is told; nudges are for the agent itself. */
const isSubagent = (said: Said): boolean => typeof said["agent_id"] === "string";

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
