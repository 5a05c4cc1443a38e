import { createHash } from "node:crypto";
import { canonicalJson, type Heartbeat, type StepEvent } from "@rouse/contract";
import { onTestFinished } from "vitest";
import type { Fetch } from "../open-line.ts";
import type { AgentOptions } from "./agent-api.ts";
import { rouse } from "./start-agent.ts";

export interface Asked {
  readonly method: string;
  readonly path: string;
  // biome-ignore lint/suspicious/noExplicitAny: each path has a body of its own
  readonly body: any;
  readonly headers: Record<string, string>;
  /** Steady time. */
  readonly at: number;
}

/** An answer instead of the usual one. */
export interface Instead {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export const problem = (status: number, code: string, detail = code): Instead => ({
  status,
  body: { type: "about:blank", title: code, status, detail, code, retryable: status === 503 },
});
export const unreachable = "unreachable";

/** Answers as Rouse does as long as all is well; `instead` says where it is not. Everything it was asked is kept. */
export function scriptedRouse() {
  const asked: Asked[] = [];
  let checkpoints = 0;
  const script: {
    instead: (asked: Asked) => Instead | typeof unreachable | undefined | Promise<Instead | undefined>;
    commands: (beat: Heartbeat) => readonly object[];
    kept: object[];
    chain: object[];
  } = { instead: () => undefined, commands: () => [], kept: [], chain: [] };

  const usual = (one: Asked): Instead => {
    if (one.path === "/api/v1/agents") return { status: 200, body: { agentId: one.body.agentId, incarnation: 3 } };
    if (one.path === "/api/v1/heartbeats") return { status: 200, body: ackOf(one.body, script.commands(one.body)) };
    if (one.path.includes("/heartbeats?")) return { status: 200, body: { heartbeats: script.kept, next: null } };
    if (one.path.endsWith("/steps")) return { status: 200, body: { accepted: one.body.length, rejected: [] } };
    if (one.path.includes("/checkpoints?")) return { status: 200, body: { checkpoints: script.chain, next: null } };
    if (one.path.startsWith("/api/v1/checkpoints/"))
      return { status: 200, body: script.chain.find((each) => one.path.endsWith((each as { id: string }).id)) };
    if (one.path.endsWith("/checkpoints"))
      return { status: 201, body: { id: `saved-${++checkpoints}`, stateHash: "x", ...one.body } };
    return problem(404, "not-found");
  };

  const fetch: Fetch = async (url, request) => {
    const one: Asked = {
      method: request.method ?? "GET",
      path: url.replace("http://rouse.test", ""),
      body: request.body === undefined ? null : JSON.parse(request.body),
      headers: request.headers,
      at: performance.now(),
    };
    asked.push(one);
    const answer = (await script.instead(one)) ?? usual(one);
    if (answer === unreachable) throw new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } });
    const { status, body, headers = {} } = answer;
    return new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers });
  };

  const to = (path: string | RegExp): Asked[] =>
    asked.filter((one) => (typeof path === "string" ? one.path === path : path.test(one.path)));

  return {
    fetch,
    script,
    asked,
    to,
    beats: (): Heartbeat[] => to("/api/v1/heartbeats").map(({ body }) => body),
    steps: (): StepEvent[] => to(/\/steps$/).flatMap(({ body }) => body),
    saved: () => to(/\/checkpoints$/).map(({ body }) => body),
    /** Resolves with what is looked for, as soon as it is there. */
    async until<T>(look: () => T | undefined | false): Promise<T> {
      for (;;) {
        const found = look();
        if (found !== undefined && found !== false) return found as T;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    /** An agent of this Rouse. It is closed when the test is over. */
    agent(options: AgentOptions = {}) {
      const warnings: string[] = [];
      const agent = rouse.agent({
        ...{ id: "w", url: "http://rouse.test", token: "t", fetch, env: {}, beatEveryMs: 100 },
        onWarning: (text) => warnings.push(text),
        ...options,
      });
      onTestFinished(agent.close);
      return { agent, warnings };
    },
  };
}

export type ScriptedRouse = ReturnType<typeof scriptedRouse>;

export const ackOf = (beat: Heartbeat, commands: readonly object[] = [], status = "accepted") => ({
  agentId: beat.agentId,
  sequenceNumber: beat.sequenceNumber,
  status,
  receivedAt: "2026-11-18T20:00:00.000Z",
  commands,
});

export function checksumOf({ checksum: _, ...beat }: Heartbeat): string {
  return createHash("sha256").update(canonicalJson(beat)).digest("hex");
}
