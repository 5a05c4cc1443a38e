/** Vercel AI SDK 6: its telemetry wraps nothing, so the model and the tools are wrapped themselves. */
import type { Agent } from "../agent/agent-api.ts";
import type { Carried, carryNudges } from "./carry-nudges.ts";
import type { OpenCall, openCalls } from "./open-calls.ts";

type Calls = ReturnType<typeof openCalls>;

export interface Params {
  // biome-ignore lint/suspicious/noExplicitAny: messages are the framework's, and one is added
  prompt: any[];
}

export interface Usage {
  readonly inputTokens: { readonly total: number | undefined };
  readonly outputTokens: { readonly total: number | undefined };
}

export interface Model {
  readonly provider: string;
}

const used = ({ inputTokens, outputTokens }: Usage): number => (inputTokens.total ?? 0) + (outputTokens.total ?? 0);

export function watchModel(agent: Agent, calls: Calls, nudges: ReturnType<typeof carryNudges>) {
  const carriedBy = new WeakMap<object, Carried>();

  /** A request inside an open call. `read` says of the answer when it is over. */
  async function ask<T>(
    params: object,
    model: Model,
    request: () => PromiseLike<T>,
    read: (answer: T, call: OpenCall) => T,
  ) {
    const carried = carriedBy.get(params);
    const call = await calls.model(model.provider).catch((refused) => {
      carried?.unanswered();
      throw refused;
    });
    try {
      const answer = await request();
      carried?.answered();
      return read(answer, call);
    } catch (error) {
      carried?.unanswered();
      call.fail(error);
      throw error;
    }
  }

  return {
    specificationVersion: "v3" as const,

    /** Nudges are a message of the user at the end, in this request only. */
    async transformParams<P extends Params>({ params }: { readonly params: P }): Promise<P> {
      if (!nudges.areWaiting()) return params;
      const carried = nudges.take();
      const content = carried.texts.map((text) => ({ type: "text", text }));
      const more = { ...params, prompt: [...params.prompt, { role: "user", content }] };
      carriedBy.set(more, carried);
      return more;
    },

    wrapGenerate: <R extends { readonly usage: Usage }>(asked: Asked<"doGenerate", R>): Promise<R> =>
      ask(asked.params, asked.model, asked.doGenerate, (answer, call) => {
        agent.tokens(used(answer.usage));
        call.end();
        return answer;
      }),

    // biome-ignore lint/suspicious/noExplicitAny: parts of a stream are the framework's, and passed on as they are
    wrapStream: <R extends { stream: ReadableStream<any> }>(asked: Asked<"doStream", R>): Promise<R> =>
      ask(asked.params, asked.model, asked.doStream, (answer, call) => ({
        ...answer,
        stream: follow(answer.stream, call, (usage) => agent.tokens(used(usage))),
      })),
  };
}

export type Asked<Name extends string, R> = { readonly params: object; readonly model: Model } & {
  readonly [name in Name]: () => PromiseLike<R>;
};

/** The same stream; the call ends with it, however it ends. */
function follow<Part>(
  stream: ReadableStream<Part>,
  call: OpenCall,
  count: (usage: Usage) => void,
): ReadableStream<Part> {
  const reader = stream.getReader();
  return new ReadableStream<Part>({
    async pull(to) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          call.end();
          return to.close();
        }
        const part = value as { readonly type?: string; readonly usage?: Usage; readonly error?: unknown };
        if (part.type === "finish" && part.usage !== undefined) count(part.usage);
        if (part.type === "error") call.fail(part.error);
        to.enqueue(value);
      } catch (error) {
        call.fail(error);
        to.error(error);
      }
    },
    cancel(reason) {
      call.cancel();
      return reader.cancel(reason);
    },
  });
}
