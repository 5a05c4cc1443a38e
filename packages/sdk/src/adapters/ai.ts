/**
 * Vercel AI SDK (`ai` 7; for 6 see `ai-middleware.ts`). No import of it, not even of types: what is used of it is
 * described here, and e2e/adapters compiles the examples of docs/frameworks.md against the real package. So those who
 * use another framework need not install this one to check their types.
 */
import type { Agent } from "../agent/agent-api.ts";
import { watchModel } from "./ai-middleware.ts";
import { steerNudges } from "./ai-steering.ts";
import { watchTools } from "./ai-tools.ts";
import { type OpenCall, openCalls } from "./open-calls.ts";

interface ModelCall<T> {
  readonly callId: string;
  readonly provider?: string | undefined;
  readonly messages?: readonly unknown[] | undefined;
  execute(): PromiseLike<T>;
}

interface ToolCall<T> {
  readonly callId: string;
  readonly toolCallId: string;
  readonly toolCall?: { readonly toolName: string; readonly input?: unknown } | undefined;
  execute(): PromiseLike<T>;
}

interface ToolEnd {
  readonly callId: string;
  readonly toolCall: { readonly toolCallId: string };
  readonly toolOutput?: unknown;
}

interface ModelEnd {
  readonly callId: string;
  readonly usage?: { readonly totalTokens?: number | undefined };
}

export function watchAiSdk(agent: Agent) {
  const calls = openCalls(agent);
  const nudges = steerNudges(agent);
  const tools = new Map<string, OpenCall>();
  const models = new Map<string, OpenCall>();
  function breakOff(run: { readonly callId: string }): void {
    nudges.brokenOff();
    end(run);
  }

  function end({ callId }: { readonly callId: string }): void {
    for (const [key, call] of tools) if (key.startsWith(`${callId} `)) close(tools, key, call.cancel);
    close(models, callId, models.get(callId)?.cancel);
  }

  return {
    /** For `registerTelemetry`, once. A call with `telemetry.integrations` of its own replaces it there: name it again. */
    telemetry: {
      async executeTool<T>({ callId, toolCallId, toolCall, execute }: ToolCall<T>): Promise<T> {
        const call = await calls.tool(toolCall?.toolName ?? "tool", toolCall?.input);
        const key = `${callId} ${toolCallId}`;
        tools.set(key, call);
        try {
          return await execute();
        } catch (error) {
          close(tools, key, () => call.fail(error));
          throw error;
        }
      },

      async executeLanguageModelCall<T>({ callId, provider, messages, execute }: ModelCall<T>): Promise<T> {
        const call = await calls.model(provider ?? "model");
        models.set(callId, call);
        try {
          const answer = await execute();
          nudges.wereIn(messages);
          return answer;
        } catch (error) {
          close(models, callId, () => call.fail(error));
          throw error;
        }
      },

      /** The wrapper is not told what the tool returned. */
      onToolExecutionEnd({ callId, toolCall, toolOutput }: ToolEnd): void {
        const key = `${callId} ${toolCall.toolCallId}`;
        const { output } = (toolOutput ?? {}) as { readonly output?: unknown };
        close(tools, key, () => tools.get(key)?.end(output));
      },

      /** A streamed answer ends here, not when the call returns. */
      onLanguageModelCallEnd({ callId, usage }: ModelEnd): void {
        agent.tokens(usage?.totalTokens ?? 0);
        close(models, callId, () => models.get(callId)?.end());
      },

      onEnd: end,
      onAbort: breakOff,
      onError: (event: unknown): void => breakOff(event as { readonly callId: string }),
    },

    /** For `experimental_steering`: nudges that come during the run are in its next step. One for each run. */
    steer: nudges.steer,

    /** For AI SDK 6: `wrapLanguageModel({ model, middleware })`. */
    middleware: watchModel(agent, calls, nudges.mail),
    /** For AI SDK 6: the same tools, behind their breakers. */
    tools: watchTools(calls),
  };
}

function close(open: Map<string, OpenCall>, key: string, how: (() => void) | undefined): void {
  how?.();
  open.delete(key);
}
