/**
 * OpenAI Agents (`@openai/agents` 0.20). No import of it, not even of types: what is used of it is described here, and
 * e2e/adapters compiles the examples of docs/frameworks.md against the real package.
 */
import type { Agent } from "../agent/agent-api.ts";
import { type Carried, carryNudges } from "./carry-nudges.ts";
import { type OpenCall, openCalls } from "./open-calls.ts";

// biome-ignore-start lint/suspicious/noExplicitAny: requests and answers are the framework's, and passed on as they are
interface Model {
  getResponse(request: any): Promise<any>;
  getStreamedResponse(request: any): AsyncIterable<any>;
}
interface Config {
  modelProvider: { getModel(name?: string): any };
  callModelInputFilter?: ((args: any) => any) | undefined;
}
interface Runner {
  readonly config: Config;
  on(event: any, listener: (...args: any[]) => void): unknown;
}
type Execute = (...args: any[]) => any;
// biome-ignore-end lint/suspicious/noExplicitAny: as above

/** Of a call of a tool in an event. */
interface CallItem {
  readonly toolCall: { readonly callId?: string; readonly id?: string; readonly arguments?: unknown };
}

/** What the framework tells the model of a tool that threw, when the author does not say otherwise. */
const failedTool = /^An error occurred while running the tool\b/;

export function watchOpenAIAgents(agent: Agent) {
  const calls = openCalls(agent);
  const nudges = carryNudges(agent);
  /** Told by `tool` below, which knows more of them. */
  const wrapped = new Set<string>();
  const tools = new Map<unknown, OpenCall>();
  let carried: Carried | null = null;

  async function filter({ modelData }: { modelData: { input: unknown[] } }) {
    carried?.unanswered(); // of a request that nothing was heard of
    carried = nudges.take();
    const more = carried.texts.map((content) => ({ role: "user", content }));
    return more.length === 0 ? modelData : { ...modelData, input: [...modelData.input, ...more] };
  }

  async function ask<T>(name: string, request: (call: OpenCall) => Promise<T>): Promise<T> {
    const call = await calls.model(name);
    try {
      return await request(call);
    } catch (error) {
      carried?.unanswered();
      call.fail(error);
      throw error;
    }
  }

  function take({ usage }: { readonly usage?: { readonly totalTokens?: number } }, call: OpenCall): void {
    carried?.answered();
    agent.tokens(usage?.totalTokens ?? 0);
    call.end();
  }

  /** The same model, with its requests told. For an agent whose model is an object; others get it from the runner. */
  function model<M extends Model>(watched: M, name: string = watched.constructor.name): M {
    const getResponse: Model["getResponse"] = (request) =>
      ask(name, async (call) => {
        const response = await watched.getResponse(request);
        take(response, call);
        return response;
      });
    async function* getStreamedResponse(request: unknown) {
      const call = await calls.model(name);
      try {
        for await (const event of watched.getStreamedResponse(request)) {
          if (event.type === "response_done") take(event.response, call);
          yield event;
        }
      } catch (error) {
        call.fail(error);
        throw error;
      } finally {
        carried?.unanswered();
        call.cancel();
      }
    }
    return new Proxy(watched, {
      get(target, key) {
        if (key === "getResponse") return getResponse;
        if (key === "getStreamedResponse") return getStreamedResponse;
        const value = Reflect.get(target, key, target) as unknown;
        return typeof value === "function" && key !== "constructor" ? value.bind(target) : value;
      },
    });
  }

  return {
    model,

    /** The same runner, from now on with its models, its tools and its nudges. */
    watch<R extends Runner>(runner: R): R {
      const { modelProvider, callModelInputFilter: theirs } = runner.config;
      runner.config.modelProvider = {
        getModel: async (name) => model(await modelProvider.getModel(name), name),
      };
      runner.config.callModelInputFilter = async (args) => {
        const modelData = theirs === undefined ? args.modelData : await theirs(args);
        return filter({ modelData });
      };
      runner.on("agent_tool_start", (_context, _agent, { name }: { name: string }, { toolCall }: CallItem) => {
        carried?.answered();
        if (wrapped.has(name)) return;
        calls.tool(name, toolCall.arguments).then(
          (call) => tools.set(toolCall.callId ?? toolCall.id, call),
          () => undefined, // nothing can be held back from here
        );
      });
      runner.on("agent_tool_end", (_context, _agent, _tool, result: unknown, { toolCall }: CallItem) => {
        const call = tools.get(toolCall.callId ?? toolCall.id);
        tools.delete(toolCall.callId ?? toolCall.id);
        if (typeof result === "string" && failedTool.test(result)) call?.fail(new Error(result));
        else call?.end(result);
      });
      runner.on("agent_end", () => agent.idle());
      return runner;
    },

    /** For `execute` of a tool: behind the breakers. Of an error the model would read nothing, so a refusal is a result. */
    tool<F extends Execute>(name: string, execute: F): F {
      wrapped.add(name);
      const watched = async (...args: unknown[]) => {
        const call = await calls.tool(name, args[0]).catch((refused: Error) => refused.message);
        if (typeof call === "string") return call;
        try {
          const result = await execute(...args);
          call.end(result);
          return result;
        } catch (error) {
          call.fail(error);
          throw error;
        }
      };
      return watched as F;
    },
  };
}
