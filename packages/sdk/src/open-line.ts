import { type DurationMs, Fault, seconds } from "@rouse/contract";

/** The part of `fetch` that is used here. */
export type Fetch = (
  url: string,
  request: {
    readonly method?: string;
    readonly headers: Record<string, string>;
    readonly body?: string;
    readonly redirect: "manual";
    readonly signal: AbortSignal;
  },
) => Promise<Pick<Response, "ok" | "status" | "text" | "json" | "body"> & { readonly headers?: Pick<Headers, "get"> }>;

export interface ConnectOptions {
  /** Where Rouse listens, such as http://127.0.0.1:7433. */
  readonly url: string;
  readonly token: string;
  readonly fetch?: Fetch;
  /** How long an answer may take; 10 s by default. Streams are not cut off by it. */
  readonly timeout?: DurationMs;
}

/** Address and token are checked once, so that no later error has to quote them. */
export interface Line {
  readonly base: string;
  readonly token: string;
  readonly fetch: Fetch;
  readonly timeout: DurationMs;
}

export function openLine({ url, token, fetch, timeout = seconds(10) }: ConnectOptions): Line {
  // A browser's fetch insists on being called as a method of the window.
  const call: Fetch = fetch ?? ((...request) => globalThis.fetch(...request));
  return { base: readBase(url), token: readToken(token), fetch: call, timeout };
}

function readBase(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const plain =
    parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.username === "" && parsed.password === "";
  if (!plain) throw new Fault("bad-request", "the address of Rouse must be one such as http://127.0.0.1:7433");
  return parsed.origin + parsed.pathname.replace(/\/+$/, "");
}

/** `fetch` refuses a header with a stray newline in it, and its error message quotes the header. */
function readToken(token: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new Fault("unauthorized", "the token is empty or has characters in it that no token has");
}
