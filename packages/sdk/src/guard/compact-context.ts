/** Any provider's message: what matters here is who speaks, and which calls and results it carries. */
export interface ChatMessage {
  readonly role: string;
  readonly content?: unknown;
}

export interface CompactOptions<M extends ChatMessage> {
  /** What the model can hold. */
  readonly contextTokens: number;
  /** Compacted from this share of it on; 0.8 when not given. */
  readonly at?: number;
  /** The newest messages that stay as they are; 10 when not given. */
  readonly keepLast?: number;
  /** Where what was left out can be looked up. */
  readonly task?: string;
  /** About four characters a token, when not given. */
  readonly countTokens?: (message: M) => number;
  /**
   * One message in place of those it is given; a reference to the task, when not given, and where this one throws or brings something longer: there
   * has to be room.
   */
  readonly summarise?: (left: readonly M[], task: string | undefined) => M | Promise<M>;
}

export interface Compacted<M> {
  readonly messages: readonly M[];
  /** How many were left out. */
  readonly left: number;
  /** Of the context, after it. Above 1, when what must stay is too much by itself. */
  readonly fill: number;
  readonly tokens: number;
  /** Why the summary is not what `summarise` was to make; `null` where it is. */
  readonly unsummarised: unknown;
}

/**
 * Makes room in a conversation that is about to be too long: system prompts and the newest messages stay, the rest becomes one summary. A result of a
 * tool is never parted from its call: then as many more messages stay as it takes.
 */
export async function compactContext<M extends ChatMessage>(
  messages: readonly M[],
  options: CompactOptions<M>,
): Promise<Compacted<M>> {
  const { contextTokens, keepLast = 10, task, summarise = referToTask } = options;
  const at = checkNumbers(options);
  const count = (list: readonly M[]): number => countAll(list, options.countTokens ?? roughTokens);
  const describe = (kept: readonly M[], left: number, unsummarised: unknown = null): Compacted<M> => {
    const tokens = count(kept);
    return { messages: kept, left, tokens, fill: tokens / contextTokens, unsummarised };
  };
  const asItIs = describe(messages, 0);
  if (asItIs.fill < at) return asItIs;
  const head = countWhile(messages, isPrompt);
  const tail = beginOfTail(messages, Math.max(head, messages.length - keepLast), head);
  const older = messages.slice(head, tail);
  const left = older.filter((message) => !isPrompt(message));
  // One message in place of one message makes no room.
  if (left.length < 2) return asItIs;
  const around = (summary: M): M[] => [
    ...messages.slice(0, head),
    ...older.filter(isPrompt),
    summary,
    ...messages.slice(tail),
  ];
  const makesRoom = (summary: M): boolean => isObject(summary) && count([summary]) < count(left);
  let unsummarised: unknown;
  try {
    const summary = await summarise(left, task);
    if (makesRoom(summary)) return describe(around(summary), left.length);
    unsummarised = new RangeError("the summary is no message, or no shorter than what it stands for");
  } catch (error) {
    unsummarised = error;
  }
  const reference = referToTask(left, task);
  return makesRoom(reference) ? describe(around(reference), left.length, unsummarised) : asItIs;
}

function checkNumbers({
  contextTokens,
  at = 0.8,
  keepLast = 10,
}: Pick<CompactOptions<ChatMessage>, "contextTokens" | "at" | "keepLast">): number {
  if (!(contextTokens > 0)) throw new RangeError(`contextTokens is a number above 0, not ${contextTokens}`);
  if (!(at > 0 && at <= 1)) throw new RangeError(`at is a number above 0, at most 1, not ${at}`);
  if (!(keepLast >= 0 && (Number.isInteger(keepLast) || keepLast === Number.POSITIVE_INFINITY)))
    throw new RangeError(`keepLast is a whole number from 0, not ${keepLast}`);
  return at;
}

function countAll<M>(messages: readonly M[], countTokens: (message: M) => number): number {
  let sum = 0;
  for (const message of messages) {
    const tokens = countTokens(message);
    if (!(tokens >= 0)) throw new RangeError(`countTokens returns a number from 0, not ${tokens}`);
    sum += tokens;
  }
  return sum;
}

const isPrompt = ({ role }: ChatMessage): boolean => role === "system" || role === "developer";

/** Moves the cut back until every result behind it has its call behind it, too, and each call the reasoning it came of. Ids may be used again: the call is the last one before its result. */
function beginOfTail(messages: readonly ChatMessage[], wanted: number, head: number): number {
  const madeIn = new Map<string, number>();
  const needs = messages.map((message, n) => {
    const { calls, results } = linksOf(message);
    const earliest = Math.min(n, ...results.map((id) => madeIn.get(id) ?? n));
    for (const id of calls) madeIn.set(id, n);
    return earliest;
  });
  let from = wanted;
  for (let n = messages.length - 1; n >= from; n--) {
    from = Math.min(from, needs[n] ?? n);
    // The Responses API refuses what was thought of without the thought before it.
    if (n === from && isThought(messages[n - 1])) from -= 1;
  }
  return Math.max(head, from);
}

const isThought = (message: unknown): boolean => fieldsOf(message)["type"] === "reasoning";

interface Links {
  readonly calls: readonly string[];
  readonly results: readonly string[];
}

/** The ids of calls and results, as OpenAI (both of its APIs, and its agents), Anthropic and the AI SDK write them. */
export function linksOf(message: unknown): Links {
  const fields = fieldsOf(message);
  const calls = listOf(fields["tool_calls"]).map(({ id }) => id);
  const results: unknown[] = [fields["tool_call_id"]];
  for (const { type, ...part } of [fields, ...listOf(fields["content"])]) {
    if (type === "tool_use") calls.push(part["id"]);
    if (type === "tool-call") calls.push(part["toolCallId"]);
    if (type === "function_call") calls.push(part["call_id"] ?? part["callId"]);
    if (type === "tool_result") results.push(part["tool_use_id"]);
    if (type === "tool-result") results.push(part["toolCallId"]);
    if (type === "function_call_output" || type === "function_call_result")
      results.push(part["call_id"] ?? part["callId"]);
  }
  return { calls: calls.filter(isText), results: results.filter(isText) };
}

type Fields = Readonly<Record<string, unknown>>;

const isText = (value: unknown): value is string => typeof value === "string";
const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
const fieldsOf = (value: unknown): Fields => (isObject(value) ? (value as Fields) : {});
const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(fieldsOf) : []);

function countWhile<T>(list: readonly T[], is: (one: T) => boolean): number {
  const end = list.findIndex((one) => !is(one));
  return end === -1 ? list.length : end;
}

const roughTokens = (message: ChatMessage): number => Math.ceil((JSON.stringify(message)?.length ?? 0) / 4);

function referToTask<M extends ChatMessage>(left: readonly M[], task: string | undefined): M {
  const where = task === undefined ? "" : ` What was done is recorded under task ${task}.`;
  const content = `${left.length} earlier messages of this conversation were left out to make room.${where}`;
  return { role: "user", content } as unknown as M;
}
