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
  /** One message in place of those it is given; a reference to the task, when not given. */
  readonly summarise?: (left: readonly M[], task: string | undefined) => M | Promise<M>;
}

export interface Compacted<M> {
  readonly messages: readonly M[];
  /** How many were left out. */
  readonly left: number;
  /** Of the context, after it. */
  readonly fill: number;
  readonly tokens: number;
}

/**
 * Makes room in a conversation that is about to be too long: system prompts at its head and the newest messages stay, the rest becomes one summary. A
 * result of a tool is never parted from its call: then as many more messages stay as it takes.
 */
export async function compactContext<M extends ChatMessage>(
  messages: readonly M[],
  options: CompactOptions<M>,
): Promise<Compacted<M>> {
  const { contextTokens, at = 0.8, keepLast = 10, task, countTokens = roughTokens, summarise = referToTask } = options;
  if (!(contextTokens > 0)) throw new RangeError(`contextTokens is a number above 0, not ${contextTokens}`);
  if (!(keepLast >= 0)) throw new RangeError(`keepLast is a number from 0, not ${keepLast}`);
  const describe = (kept: readonly M[], left: number): Compacted<M> => {
    const tokens = kept.reduce((sum, message) => sum + countTokens(message), 0);
    return { messages: kept, left, tokens, fill: tokens / contextTokens };
  };
  const asItIs = describe(messages, 0);
  if (asItIs.fill < at) return asItIs;
  const head = countWhile(messages, ({ role }) => role === "system" || role === "developer");
  const tail = beginOfTail(messages, Math.max(head, messages.length - keepLast), head);
  // One message in place of one message makes no room.
  if (tail - head < 2) return asItIs;
  const summary = await summarise(messages.slice(head, tail), task);
  return describe([...messages.slice(0, head), summary, ...messages.slice(tail)], tail - head);
}

/** Moves the cut back until every result behind it has its call behind it, too. */
function beginOfTail(messages: readonly ChatMessage[], wanted: number, head: number): number {
  const madeIn = new Map<string, number>();
  for (const [n, message] of messages.entries()) for (const id of linksOf(message).calls) madeIn.set(id, n);
  let from = wanted;
  for (let n = messages.length - 1; n >= from; n--)
    for (const id of linksOf(messages[n]).results) from = Math.min(from, madeIn.get(id) ?? from);
  return Math.max(head, from);
}

interface Links {
  readonly calls: readonly string[];
  readonly results: readonly string[];
}

/** The ids of calls and results, as OpenAI, Anthropic and the AI SDK write them. */
export function linksOf(message: unknown): Links {
  const { tool_calls, tool_call_id, content } = fieldsOf(message);
  const calls = listOf(tool_calls).map(({ id }) => id);
  const results: unknown[] = [tool_call_id];
  for (const { type, id, tool_use_id, toolCallId } of listOf(content)) {
    if (type === "tool_use") calls.push(id);
    if (type === "tool_result") results.push(tool_use_id);
    if (type === "tool-call") calls.push(toolCallId);
    if (type === "tool-result") results.push(toolCallId);
  }
  return { calls: calls.filter(isText), results: results.filter(isText) };
}

type Fields = Readonly<Record<string, unknown>>;

const isText = (value: unknown): value is string => typeof value === "string";
const fieldsOf = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(fieldsOf) : []);

function countWhile<T>(list: readonly T[], is: (one: T) => boolean): number {
  const end = list.findIndex((one) => !is(one));
  return end === -1 ? list.length : end;
}

const roughTokens = (message: ChatMessage): number => Math.ceil(JSON.stringify(message).length / 4);

function referToTask<M extends ChatMessage>(left: readonly M[], task: string | undefined): M {
  const where = task === undefined ? "" : ` What was done is recorded under task ${task}.`;
  const content = `${left.length} earlier messages of this conversation were left out to make room.${where}`;
  return { role: "user", content } as unknown as M;
}
