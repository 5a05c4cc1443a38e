/** Vercel AI SDK 6: tools behind their breakers. */
import type { OpenCall, openCalls } from "./open-calls.ts";

type Calls = ReturnType<typeof openCalls>;

// biome-ignore lint/suspicious/noExplicitAny: any function of any tool
type Execute = (...args: any[]) => any;

export const watchTools =
  (calls: Calls) =>
  <T extends Readonly<Record<string, object>>>(tools: T): T =>
    Object.fromEntries(
      Object.entries(tools).map(([name, tool]) => {
        const { execute } = tool as { execute?: Execute };
        return [name, execute === undefined ? tool : { ...tool, execute: watchTool(calls, name, execute.bind(tool)) }];
      }),
    ) as T;

/** A generator shows results that are not final, and stays one: the framework tells it by what it returns. */
function watchTool(calls: Calls, name: string, execute: Execute): Execute {
  if (execute.constructor.name !== "AsyncGeneratorFunction")
    return async (...args) => {
      const call = await calls.tool(name, args[0]);
      return finish(call, async () => lastOf(await execute(...args)));
    };
  return async function* (...args) {
    const call = await calls.tool(name, args[0]);
    let last: unknown;
    try {
      for await (last of execute(...args)) yield last;
      call.end(last);
    } catch (error) {
      call.fail(error);
      throw error;
    } finally {
      call.cancel();
    }
  };
}

async function finish<T>(call: OpenCall, run: () => Promise<T>): Promise<T> {
  try {
    const value = await run();
    call.end(value);
    return value;
  } catch (error) {
    call.fail(error);
    throw error;
  }
}

/** What comes bit by bit from a function that is no generator: the last is the result. */
async function lastOf(value: unknown): Promise<unknown> {
  if (typeof value !== "object" || value === null || !(Symbol.asyncIterator in value)) return value;
  let last: unknown;
  for await (last of value as AsyncIterable<unknown>);
  return last;
}
