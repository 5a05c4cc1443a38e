/**
 * LangChain and LangGraph (`langchain` 1, `@langchain/langgraph` 1). No import of them, not even of types: what is used
 * of them is described here, and e2e/adapters compiles the examples of docs/frameworks.md against the real packages.
 */
import type { Agent } from "../agent/agent-api.ts";
import { carryNudges } from "./carry-nudges.ts";
import { openCalls } from "./open-calls.ts";

// biome-ignore-start lint/suspicious/noExplicitAny: requests and answers are the framework's, and passed on as they are
interface ModelRequest {
  readonly model: any;
  readonly messages: any[];
}
interface ToolRequest {
  readonly toolCall: { readonly id?: string; readonly name: string; readonly args: unknown };
  readonly runtime: { readonly signal?: AbortSignal };
}
interface Words {
  /** `ToolMessage` of `langchain`: a call that fails is answered with one. */
  readonly ToolMessage: new (fields: {
    content: string;
    tool_call_id: string;
    name: string;
    status: "error";
  }) => any;
  /** Whether a tool's error is told to the model, as without any middleware, or ends the run, as LangChain does with one. */
  readonly toolErrors?: "tell" | "throw";
}
interface Saver {
  put(config: any, checkpoint: any, metadata: any, versions: any): Promise<any>;
}
// biome-ignore-end lint/suspicious/noExplicitAny: as above

export function watchLangChain(agent: Agent, { ToolMessage, toolErrors = "tell" }: Words) {
  const calls = openCalls(agent);
  const nudges = carryNudges(agent);
  let step: number | null = null;

  return {
    /** For `createMiddleware`; first in the list of `createAgent`, so that it sees what retries have made of it. */
    middleware: {
      name: "rouse",

      /** Nudges are a message of the user at the end, in this request only. */
      async wrapModelCall<Q extends ModelRequest, A>(request: Q, handler: (request: Q) => A | Promise<A>): Promise<A> {
        const call = await calls.model(nameOf(request.model));
        const carried = nudges.take();
        const more = carried.texts.map((content) => ({ role: "user", content }));
        try {
          const answer = await handler(
            more.length === 0 ? request : { ...request, messages: [...request.messages, ...more] },
          );
          carried.answered();
          agent.tokens(tokensOf(answer));
          call.end();
          return answer;
        } catch (error) {
          carried.unanswered();
          call.fail(error);
          throw error;
        }
      },

      async wrapToolCall<Q extends ToolRequest, A>(request: Q, handler: (request: Q) => A | Promise<A>): Promise<A> {
        const { name, args, id = "" } = request.toolCall;
        const tell = (content: string): A => new ToolMessage({ content, tool_call_id: id, name, status: "error" });
        let call: Awaited<ReturnType<typeof calls.tool>>;
        try {
          call = await calls.tool(name, args);
        } catch (refused) {
          return tell((refused as Error).message);
        }
        try {
          const answer = await handler(request);
          const { content, status } = answer as { readonly content?: unknown; readonly status?: unknown };
          if (status === "error") call.fail(new Error(String(content)));
          else call.end(content);
          return answer;
        } catch (error) {
          if (isBubble(error)) {
            call.cancel(); // a question to a person, a jump in the graph: it is called again
            throw error;
          }
          call.fail(error);
          if (toolErrors === "throw" || request.runtime.signal?.aborted === true || isWrongInput(error)) throw error;
          return tell(`${error}\n Please fix your mistakes.`);
        }
      },

      afterAgent(): void {
        agent.idle();
      },
    },

    /**
     * The same checkpointer. Each checkpoint of the graph that it has saved becomes a step of the agent's task, with
     * its ids as the state: the graph's own state stays where it is. Needs a task.
     */
    checkpointer<S extends Saver>(saver: S): S {
      const put: Saver["put"] = async (config, checkpoint, metadata, versions) => {
        const saved = await saver.put(config, checkpoint, metadata, versions);
        mirror(saved, metadata);
        return saved;
      };
      return new Proxy(saver, {
        get(target, key) {
          if (key === "put") return put;
          const value = Reflect.get(target, key, target) as unknown;
          return typeof value === "function" && key !== "constructor" ? value.bind(target) : value;
        },
      });
    },
  };

  function mirror(
    saved: { readonly configurable?: Record<string, unknown> },
    metadata: { readonly source?: unknown },
  ): void {
    const { thread_id, checkpoint_ns = "", checkpoint_id } = saved.configurable ?? {};
    // Graphs inside others have a name space of their own, and go on with the one around them.
    if (agent.task === null || checkpoint_ns !== "") return;
    step = (step ?? agent.recovered?.step ?? 0) + 1;
    agent.checkpoint(step, { thread_id, checkpoint_id }, String(metadata?.source ?? "graph")).catch(() => undefined);
  }
}

const nameOf = (model: { readonly getName?: () => string }): string =>
  typeof model?.getName === "function" ? model.getName() : "model";

const tokensOf = (answer: unknown): number => {
  const { usage_metadata } = answer as { readonly usage_metadata?: { readonly total_tokens?: number } };
  return usage_metadata?.total_tokens ?? 0;
};

const isBubble = (error: unknown): boolean =>
  typeof error === "object" && error !== null && (error as { is_bubble_up?: unknown }).is_bubble_up === true;

/** LangChain tells the model itself. */
const isWrongInput = (error: unknown): boolean => error instanceof Error && error.name === "ToolInvocationError";
