/**
 * Vercel AI SDK (`ai` 7; for 6 see `ai-middleware.ts`). No import of it, not even of types: what is used of it is
 * described here, and e2e/adapters compiles the examples of docs/frameworks.md against the real package. So those who
 * use another framework need not install this one to check their types.
 */
import type { Agent } from "../agent/agent-api.ts";
import { watchModel } from "./ai-middleware.ts";
import { watchTools } from "./ai-tools.ts";
import { type Carried, carryNudges } from "./carry-nudges.ts";
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

/** Of what `experimental_createSteering()` makes. */
interface Steering {
  steer(message: string): Promise<{ readonly type: "delivered" | "not-delivered" }>;
}

export function watchAiSdk(agent: Agent) {
  const calls = openCalls(agent);
  const nudges = carryNudges(agent, offer);
  const tools = new Map<string, OpenCall>();
  const models = new Map<string, OpenCall>();
  /** That of the newest run takes what comes. */
  let steering: Steering | null = null;
  const offered = new Set<Carried>();
  const delivered = new Set<Carried>();

  function offer(): void {
    while (steering !== null && nudges.areWaiting()) offerOne(nudges.take(1), steering);
  }

  function offerOne(carried: Carried, to: Steering): void {
    offered.add(carried);
    const settle = (isDelivered: boolean): void => {
      offered.delete(carried);
      if (isDelivered) return void delivered.add(carried);
      if (steering === to) steering = null; // its run is over
      carried.unanswered();
    };
    to.steer(carried.texts.join("\n")).then(
      ({ type }) => settle(type === "delivered"),
      () => settle(false),
    );
  }

  function giveBack(all: Set<Carried>): void {
    for (const carried of all) carried.unanswered();
    all.clear();
  }

  /** Messages are empty where the program does not let them be recorded. */
  function wereAnswered(messages: readonly unknown[] = []): void {
    if (delivered.size === 0) return;
    const sent = messages.length === 0 ? null : JSON.stringify(messages);
    for (const carried of delivered) {
      if (sent !== null && !carried.texts.every((text) => sent.includes(JSON.stringify(text)))) continue;
      delivered.delete(carried);
      carried.answered();
    }
  }

  function breakOff(run: { readonly callId: string }): void {
    giveBack(delivered);
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
          wereAnswered(messages);
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
    steer<S extends Steering>(fresh: S): S {
      steering = fresh;
      giveBack(offered); // to a run that may never begin
      offer();
      return fresh;
    },

    /** For AI SDK 6: `wrapLanguageModel({ model, middleware })`. */
    middleware: watchModel(agent, calls, nudges),
    /** For AI SDK 6: the same tools, behind their breakers. */
    tools: watchTools(calls),
  };
}

function close(open: Map<string, OpenCall>, key: string, how: (() => void) | undefined): void {
  how?.();
  open.delete(key);
}
