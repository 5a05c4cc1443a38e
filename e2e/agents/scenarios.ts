/** One thing the model does in an answer. */
export type Act =
  | { readonly does: "say"; readonly text: string }
  /**
   * `asks`: the tool runs outside the program's sandbox, so that a person must allow it. `behind`: it runs in the
   * background, and the program wakes the model when it is over.
   */
  | { readonly does: "run"; readonly command: string; readonly asks?: boolean; readonly behind?: boolean }
  | { readonly does: "read"; readonly file: string }
  | { readonly does: "edit"; readonly file: string; readonly old: string; readonly new: string }
  | { readonly does: "ask"; readonly question: string; readonly options: readonly string[] }
  | { readonly does: "plan"; readonly plan: string };

/** `usage`: the quota is used up until `retryAfterSeconds` from now, as a subscription tells it. */
export interface Refusal {
  readonly kind: "refuse";
  readonly status: 400 | 401 | 429 | 529;
  readonly type: string;
  readonly message: string;
  readonly retryAfterSeconds?: number;
  readonly usage?: boolean;
}

export type Turn =
  | { readonly kind: "answer"; readonly acts: readonly Act[]; readonly pingsForMs?: number }
  | Refusal
  | { readonly kind: "hang" };

/**
 * What the model knows when it is asked: the tool results and nudges in the conversation, and how long ago it was
 * first refused.
 */
export interface Asked {
  readonly results: number;
  readonly nudged: boolean;
  readonly refusedForMs: number;
}

export const limitSeconds = 40;
/** What is told when the quota is used up is not what comes true: so much is advertised, and so long it takes. */
const advertisedSeconds = 15;
export const quotaSeconds = 90;
const rateSeconds = 12;
const overloadSeconds = 12;
export const pingSeconds = 30;
export const toolSeconds = 30;
export const leftSeconds = 60;

const say = (text: string): Act => ({ does: "say", text });
const run = (command: string): Act => ({ does: "run", command });
const answer = (...acts: Act[]): Turn => ({ kind: "answer", acts });

const work: readonly Turn[] = [
  answer(say("I will look around first."), run("ls -la")),
  answer({ does: "read", file: "hello.txt" }),
  answer(say("Now I change the greeting."), { does: "edit", file: "hello.txt", old: "hello", new: "goodbye" }),
  answer(run("cat hello.txt")),
];
export const lastWords = "hello.txt says goodbye now.";
const normal = (results: number): Turn => work[results] ?? answer(say(`All done: ${lastWords}`));
const loop = answer(run("cat missing.txt"));

const asking = "Number of request tokens has exceeded your per-minute rate limit";
const quota = "This request would exceed your account's rate limit. Please try again later.";

/** Refuses after the first result, until so much time has passed. */
const refusedFor =
  (seconds: number, refusal: (left: number) => Refusal) =>
  ({ results, refusedForMs }: Asked): Turn => {
    const left = seconds - refusedForMs / 1000;
    return results >= 1 && left > 0 ? refusal(Math.ceil(left)) : normal(results);
  };

/** What the model does next, by scenario. Each is a base address of its own. */
export const scenarios = {
  normal: ({ results }) => normal(results),
  loop: () => loop,
  nudge: ({ nudged }) => (nudged ? answer(say("You are right, I was going round in circles. I stop here.")) : loop),
  /** The same failing call, which leaves a line behind when it is really made. */
  contain: () => answer(run("echo made >> calls.txt; cat missing.txt")),
  permission: ({ results }) =>
    results === 0
      ? answer(say("I will make a folder."), { ...run("mkdir -p build && rm -r build"), asks: true } as Act)
      : answer(say("The folder was made and removed.")),
  /** The program asks before the model is asked anything. */
  trust: ({ results }) => normal(results),
  question: ({ results }) =>
    results === 0
      ? answer({ does: "ask", question: "Which database should I use?", options: ["PostgreSQL", "SQLite"] })
      : answer(say("Thanks, I go with that.")),
  plan: ({ results }) =>
    results === 0
      ? answer(say("Here is my plan."), { does: "plan", plan: "# Plan\n1. Change hello.txt\n2. Run the tests" })
      : answer(say("Carried out.")),
  rate: refusedFor(rateSeconds, (left) => ({
    kind: "refuse",
    status: 429,
    type: "rate_limit_error",
    message: asking,
    retryAfterSeconds: left,
  })),
  overload: refusedFor(overloadSeconds, () => ({
    kind: "refuse",
    status: 529,
    type: "overloaded_error",
    message: "Overloaded",
  })),
  limit: refusedFor(limitSeconds, (left) => ({
    kind: "refuse",
    status: 429,
    type: "rate_limit_error",
    message: quota,
    retryAfterSeconds: left,
    usage: true,
  })),
  quota: refusedFor(quotaSeconds, (left) => ({
    kind: "refuse",
    status: 429,
    type: "rate_limit_error",
    message: quota,
    retryAfterSeconds: Math.max(1, left + advertisedSeconds - quotaSeconds),
    usage: true,
  })),
  /** Its key is refused, whenever it asks. */
  auth: () => ({ kind: "refuse", status: 401, type: "authentication_error", message: "invalid x-api-key" }),
  hang: ({ results }) => (results >= 1 ? { kind: "hang" } : normal(results)),
  slow: ({ results }) =>
    results === 1 ? { ...(normal(1) as Turn & { kind: "answer" }), pingsForMs: pingSeconds * 1000 } : normal(results),
  tool: ({ results }) =>
    results === 0
      ? answer(run(`python3 -c 'import time; time.sleep(${toolSeconds})'; echo slept`))
      : answer(say("Slept well.")),
  background: ({ results }) =>
    results === 0
      ? answer({ ...run(`python3 -c 'import time; time.sleep(${leftSeconds})'; echo built`), behind: true } as Act)
      : answer(say("The build runs in the background.")),
  context: ({ results }) =>
    results >= 1
      ? {
          kind: "refuse",
          status: 400,
          type: "invalid_request_error",
          message: "prompt is too long: 210000 tokens > 200000 maximum",
        }
      : normal(results),
  edits: ({ results }) =>
    results < 12 ? answer(run(`echo line ${results} >> notes.txt; wc -l notes.txt`)) : answer(say("Twelve lines.")),
  /** It works on while its terminal is closed. */
  closed: () => answer(run("date +%N >> notes.txt")),
  /** Its work is done before Rouse sees it, and its conversation is taken up. */
  continued: ({ results }) => normal(results),
  /** A person clears the conversation when its work is done. */
  cleared: ({ results }) => normal(results),
  /** Long enough for somebody to kill it in the middle. */
  killed: ({ results }) =>
    results < 3 ? answer(run(`echo step ${results} >> notes.txt`)) : answer(run("true"), say("One more step.")),
} as const satisfies Record<string, (asked: Asked) => Turn>;

export type Scenario = keyof typeof scenarios;
export const scenarioNames = Object.keys(scenarios) as Scenario[];
