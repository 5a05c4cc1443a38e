import type { IncomingMessage } from "node:http";
import type { Fetch } from "@rouse/sdk";

/** A `fetch` for commands that ask once: Node's own compiles its parser anew, which takes longer than `rouse ps`. */
export const fetchOverHttp: Fetch = async (url, { method = "GET", headers, body, signal }) => {
  // An import of node:http makes the newer Nodes load their own `fetch` with it.
  const { request } = process.getBuiltinModule(url.startsWith("https:") ? "node:https" : "node:http");
  signal.throwIfAborted();
  const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    // A connection kept for the next call may be gone by then, and nobody could tell whether the call was heard.
    request(url, { method, headers: { ...headers, ...length }, signal, agent: false })
      .on("response", resolve)
      .on("error", (error) => reject(asFetchFails(error, signal)))
      .end(body);
  });
  answer.on("error", () => {}); // whoever reads it is told
  const text = async (): Promise<string> => {
    const pieces: Uint8Array[] = [];
    for await (const piece of piecesOf(answer, signal)) pieces.push(piece);
    return Buffer.concat(pieces).toString("utf8");
  };
  const status = answer.statusCode ?? 0;
  return {
    status,
    ok: status >= 200 && status < 300,
    text,
    json: async () => JSON.parse(await text()),
    get body() {
      return ReadableStream.from(piecesOf(answer, signal)) as ReadableStream<Uint8Array<ArrayBuffer>>;
    },
  };
};

async function* piecesOf(answer: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* answer;
  } catch (error) {
    throw asFetchFails(error, signal);
  }
}

const asFetchFails = (error: unknown, signal: AbortSignal): unknown =>
  signal.aborted ? signal.reason : new TypeError("fetch failed", { cause: error });
