import type { EpochMs, Sight } from "@rouse/contract";
import { isCancelled } from "../../steps/digest-event.ts";
import { classOfText, cut, longestLine } from "../mask-text.ts";
import type { Reading } from "../reading.ts";
import { isFence, ownLine } from "../speaker.ts";
import { digestOfValue, nameOf, textIn } from "./read-fields.ts";

/** What is remembered of a stream to read its next line. Plain, bounded data. */
export interface StreamState {
  /** Ids of the tools that run, oldest first. */
  readonly tools: readonly string[];
  /** Responses whose tokens are counted already, and with how many. */
  readonly counted: readonly { readonly id: string; readonly tokens: number }[];
  /** The tokens of the whole run. */
  readonly tokens: number;
  /** The response of the main agent that is being read. */
  readonly answer: string | null;
  readonly compacting: boolean;
  /** The beginning of a message that comes in pieces. */
  readonly saying: string;
  /** Why the program broke off its turn, although it calls that a success. */
  readonly brokenOff: string | null;
  /** The last line of the agent's last message, unless something came after it. */
  readonly ending: string | null;
  /** The conversation that it was last seen in. */
  readonly session: string | null;
  /** A person was asked and has not answered, by its hooks. */
  readonly asking: boolean;
  /** When the used-up quota is back, where a field says so. */
  readonly resetsAt: EpochMs | null;
  /** The turn that is under way, where it has a name. */
  readonly turn: string | null;
  /** Ids of background work, oldest first, where nothing else tells. */
  readonly left: readonly string[];
}

export const startStream = (): StreamState => ({
  tools: [],
  counted: [],
  tokens: 0,
  answer: null,
  compacting: false,
  saying: "",
  brokenOff: null,
  session: null,
  ending: null,
  asking: false,
  resetsAt: null,
  turn: null,
  left: [],
});

const mostTools = 64;
const mostCounted = 64;

/** One step of reading a stream. */
export type Step = Reading<StreamState>;

export const saw = (state: StreamState, ...sights: readonly Sight[]): Step => ({ state, sights });

/** Continues with the state of the step before. */
export function andThen(before: Step, next: (state: StreamState) => Step): Step {
  const after = next(before.state);
  return { state: after.state, sights: [...before.sights, ...after.sights] };
}

/** A tool starts. A call without an id is not followed, and one that is told of twice has started once. */
export function openTool(
  state: StreamState,
  call: { readonly id: unknown; readonly name: unknown; readonly args: unknown },
  timeoutSeconds: number | null = null,
): Step {
  const id = nameOf(call.id);
  if (id === null || state.tools.includes(id)) return saw(state);
  const tools = [...state.tools, id].slice(-mostTools);
  const name = nameOf(call.name) ?? "unknown";
  const argsDigest = digestOfValue(call.args);
  return saw({ ...state, tools }, { kind: "tool-started", id, name, argsDigest, timeoutSeconds });
}

/** `result` is whatever came back; `undefined` when it could not be read. */
export function closeTool(state: StreamState, id: string, failed: boolean, result: unknown): Step {
  const tools = state.tools.filter((open) => open !== id);
  return saw({ ...state, tools }, { kind: "tool-ended", id, failed, ...identify(result, failed) });
}

/** The same where the call may be over already, or was never told of. */
export function closeOpenTool(state: StreamState, value: unknown, failed: boolean, result: unknown): Step {
  const id = nameOf(value);
  return id === null || !state.tools.includes(id) ? saw(state) : closeTool(state, id, failed, result);
}

export const turnEnded = (outcome: "success" | "failure", reason: string): Extract<Sight, { kind: "turn-ended" }> => ({
  kind: "turn-ended",
  outcome,
  reason,
});

function identify(result: unknown, failed: boolean) {
  if (result === undefined) return { resultDigest: "" };
  const text = textIn(result);
  const cancelled = failed && isCancelled({ kind: "tool_result", text });
  return {
    resultDigest: digestOfValue(result),
    resultClass: classOfText(text),
    ...(cancelled ? { cancelled } : {}),
  };
}

/** Told once for each conversation. */
export function enterSession(
  state: StreamState,
  id: string | null,
  model: string | null,
  version: string | null,
): Step {
  if (id === null || id === state.session) return saw(state);
  return saw({ ...state, session: id }, { kind: "session", id, model, version });
}

/** Notes only how a message ends that another eye tells. */
export const endWith = (state: StreamState, text: string): StreamState => ({ ...state, ending: lastLineOf(text) });

export const say = (state: StreamState, text: string): Step =>
  saw({ ...state, ending: lastLineOf(text) }, { kind: "said", digest: digestOfValue(text), class: classOfText(text) });

/** `null` when the last line is code. */
function lastLineOf(text: string): string | null {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const isCode = lines.filter(isFence).length % 2 === 1;
  const last = lines.at(-1);
  return last === undefined || isCode ? null : ownLine(cut(last, longestLine), "generic");
}

/** Within a turn either a tool runs or the model is at work, so the end of the last tool begins a request. */
export const askUnlessToolRuns = (state: StreamState): Step =>
  state.tools.length > 0 ? saw(state) : saw(state, { kind: "model-asked" });

/** The total never falls: a smaller number is that of a single turn, or a mistake. */
export function raiseTokens(state: StreamState, total: number): Step {
  const tokens = Math.min(total, Number.MAX_SAFE_INTEGER);
  return tokens > state.tokens ? saw({ ...state, tokens }, { kind: "tokens", total: tokens }) : saw(state);
}

/** A response comes as several lines that repeat its usage, later ones sometimes higher: only the growth is added. */
export function countResponse(state: StreamState, id: string, tokens: number): Step {
  const before = state.counted.find((each) => each.id === id)?.tokens ?? 0;
  const others = state.counted.filter((each) => each.id !== id);
  const counted = [...others, { id, tokens: Math.max(before, tokens) }].slice(-mostCounted);
  return raiseTokens({ ...state, counted }, state.tokens + Math.max(0, tokens - before));
}
