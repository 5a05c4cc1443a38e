import { type LoopKind, loopKinds, type StepEvent } from "@rouse/contract";
import type { Finding } from "./record.ts";
import { type StoryGiven, story } from "./story.test-support.ts";

export interface Answer {
  readonly failed?: boolean | null;
  /** The class of the answer; the answer itself when not given. */
  readonly like?: string | null;
  /** Only for stories about the text itself. */
  readonly text?: string;
}

/**
 * A run told step by step, through the whole of supervise: `does("shell", "make", "ok")` is a call and, a second later,
 * its result. Words stand for their digests; `null` is not recorded.
 */
export function runStory(given: StoryGiven = {}) {
  const agent = story({ preset: "default", ...given });

  function tell(...events: StepEvent[]): void {
    agent.silentFor("1s");
    agent.take({ kind: "stepped", events });
  }

  const call = (tool: string, args: string | null, id: string | null = null): StepEvent => ({
    kind: "tool_call",
    tool,
    id,
    args_digest: args,
  });
  const result = (answer: string | null, { failed = false, like = answer, text }: Answer, id: string | null = null) =>
    ({
      kind: "tool_result",
      id,
      text_digest: answer,
      text_class: like,
      failed,
      ...(text === undefined ? {} : { text }),
    }) satisfies StepEvent;
  const word = (role: string, text: string | null, like = text): StepEvent => ({
    kind: "message",
    role,
    text_digest: text,
    text_class: like,
  });

  return {
    agent,
    tell,
    does(tool: string, args: string | null, answer: string | null, how: Answer = {}): void {
      tell(call(tool, args));
      tell(result(answer, how));
    },
    fails(tool: string, args: string | null, answer: string | null, how: Answer = {}): void {
      tell(call(tool, args));
      tell(result(answer, { ...how, failed: true }));
    },
    /** Calls issued together and answered one after the other. */
    doesTogether(tool: string, calls: readonly (readonly [args: string, answer: string, how?: Answer])[]): void {
      tell(...calls.map(([args], i) => call(tool, args, `call-${i}`)));
      for (const [i, [, answer, how = {}]] of calls.entries()) tell(result(answer, how, `call-${i}`));
    },
    says: (text: string | null, like = text) => tell(word("agent", text, like)),
    hears: (text: string | null) => tell(word("user", text)),
    meetsApiError: () => tell({ kind: "error", text: "529 overloaded" }),
    loop: (kind: LoopKind): Finding | undefined => agent.finding(kind),
    /** Every loop that is seen right now, such as "cycle:stuck". */
    loops: (): string[] =>
      agent.record.health.findings.filter(({ kind }) => kinds.has(kind)).map(({ kind, level }) => `${kind}:${level}`),
    get state() {
      return agent.state;
    },
  };
}

const kinds: ReadonlySet<string> = new Set(loopKinds);

export function times(count: number, tell: (n: number) => void): void {
  for (let n = 0; n < count; n++) tell(n);
}
