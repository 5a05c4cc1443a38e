import type { DurationMs, MonoMs, Policy, Question, RouseEvent } from "@rouse/contract";
import type { Activity, Draft, Facts, Mark } from "../facts.ts";
import type { StepTrail } from "../steps/step.ts";
import { type Limit, type TerminalFacts, tellsSteps } from "../terminal-facts.ts";

/** What the sights of one report amount to. */
export interface Sighted {
  terminal: Draft<TerminalFacts>;
  facts: Draft<Facts>;
  activity: Activity;
  limit: Limit | null;
  steps: StepTrail | null;
  /** A question that work seemed to answer within this report; it may still stand there. */
  answered?: { readonly asks: NonNullable<TerminalFacts["asks"]>; readonly told: RouseEvent | null } | undefined;
  readonly events: RouseEvent[];
}

export interface Moment {
  readonly agentId: string;
  readonly at: MonoMs;
}

export interface SightContext extends Moment {
  readonly mark: Mark;
  /** How long before `at` it was seen, for a life that was not known yet then. */
  readonly late: DurationMs;
  /** Rouse holds the agent back, so the end of its turn is our doing. */
  readonly heldBack: boolean;
  /** The same report tells of a limit, so what is drawn with it is no work. */
  readonly limited: boolean;
  readonly policy: Policy;
}

/** The agent stands at its input and does nothing: its turn is over. */
export const isAtInput = (what: Question): boolean => what === "prompt" || what === "draft";

/** Lines that may follow the completion marker: what it cost, how long it took, a prompt. */
export const afterword = 4;

type Open = Extract<Activity, { kind: "RUNNING" }>["open"];

/**
 * Work goes on. A state that a beat announced stays until the next beat, unless the terminal shows a tool or model at
 * work.
 */
export function resumeRunning(sighted: Sighted, open: Open, context: SightContext): void {
  const { activity, terminal } = sighted;
  if (activity.kind === "FINISHED") return;
  const readOffTerminal = terminal.wait !== null || tellsSteps(terminal) || activity.kind === "STARTING";
  if (!readOffTerminal) return;
  terminal.wait = null;
  endQuestion(sighted, context);
  if (terminal.wokenBy != null) return awaitWaker(sighted, terminal.wokenBy, context.at);
  sighted.activity = { kind: "RUNNING", since: activity.kind === "RUNNING" ? activity.since : context.at, open };
}

export const openTool = (name: string, timeoutSeconds: number | null, since: MonoMs): Open => ({
  kind: "tool",
  name,
  since,
  ...(timeoutSeconds === null ? {} : { timeoutSeconds }),
});

/** The tool that runs, counted from now: the time before was another tool's or spent waiting. */
export function lastTool({ tools }: TerminalFacts, at: MonoMs): Open {
  const last = tools[tools.length - 1];
  return last === undefined ? null : openTool(last.name, last.timeoutSeconds, at);
}

export function endQuestion(sighted: Sighted, { agentId, at }: Moment): void {
  const { terminal, events } = sighted;
  if (terminal.asks === null) return;
  const told = terminal.asks.untold === true ? null : questionEnded(agentId, terminal.asks.since, at);
  if (told !== null) events.push(told);
  sighted.answered = { asks: terminal.asks, told };
  if (terminal.asks.what === "prompt") terminal.turnEndedAt = null;
  terminal.asks = null;
}

/** Tells the question that nobody was called for during the limit. */
export const tellOfQuestion = (
  agentId: string,
  { what, untold }: NonNullable<TerminalFacts["asks"]>,
): readonly RouseEvent[] =>
  untold === true ? [{ type: "AGENT_NEEDS_YOU", payload: { agentId, what, pattern: "its limit is over" } }] : [];

export const questionEnded = (agentId: string, since: MonoMs, at: MonoMs): RouseEvent => ({
  type: "AGENT_NEEDS_YOU_NO_MORE",
  payload: { agentId, waitedSeconds: Math.max(0, Math.round((at - since) / 1000)) },
});

type Waker = NonNullable<TerminalFacts["wokenBy"]>;

/** What makes the agent go on by itself, as its program or its screen tells. */
export const wakerOf = ({ wokenBy, asks }: Pick<TerminalFacts, "wokenBy" | "asks">): Waker | null =>
  wokenBy ?? asks?.wokenBy ?? null;

/** The turn is over, and nobody is needed before the agent is woken. */
export function awaitWaker(sighted: Sighted, waker: Waker, at: MonoMs): void {
  const { activity, terminal } = sighted;
  const since = activity.kind === "WAITING" && activity.for === waker ? activity.since : at;
  terminal.wait = null;
  sighted.activity = { kind: "WAITING", since, for: waker, until: null };
}

/** A process left running may be a server that never ends. After the longest wait the agent counts as at its prompt. */
export function stopAwaiting(sighted: Sighted, agentId: string, mark: Mark, at: MonoMs, policy: Policy): void {
  const { terminal, activity } = sighted;
  const waker = wakerOf(terminal);
  if (waker === null || activity.kind !== "WAITING" || activity.for !== waker) return;
  if (at - activity.since < policy.longestWait[waker]) return;
  terminal.wokenBy = null;
  terminal.turnEndedAt = mark;
  const { asks } = terminal;
  if (asks === null) {
    sighted.activity = { kind: "RUNNING", since: at, open: null };
    return;
  }
  const { what, since, untold } = asks;
  const pattern = "waited for long enough";
  if (untold === true) sighted.events.push({ type: "AGENT_NEEDS_YOU", payload: { agentId, what, pattern } });
  terminal.asks = { what, since };
  terminal.wait = "input";
  sighted.activity = { kind: "WAITING", since, for: "input", until: null };
}
