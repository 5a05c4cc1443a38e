import type { AgentFamily } from "@rouse/contract";
import { fieldsOf, parseLine, textOf } from "./read-fields.ts";

/** Words that were typed into a program, on their way to its model. `message`: the one of its conversation that has them; no answer has followed it yet. */
export interface TypedWords {
  readonly words: string;
  readonly message: string | null;
}

/** Programs whose session file says which message an answer is for. */
export const answersByMessage = (family: AgentFamily): boolean => family === "opencode";

/** Reads one line of a session file for words of ours; `null`: its model was asked with them. */
export function followWords(typed: TypedWords, line: string): TypedWords | null {
  const data = fieldsOf(parseLine(line)?.data);
  const part = fieldsOf(data?.part);
  if (part?.type === "text" && (textOf(part.text) ?? "").includes(typed.words))
    return { ...typed, message: textOf(part.messageID) };
  const info = fieldsOf(data?.info);
  const isAnswer = info?.role === "assistant" && typed.message !== null && info.parentID === typed.message;
  return isAnswer ? null : typed;
}

/** Words that were put into a turn of Codex, on their way to its model. `taken`: its conversation has them; no answer has followed yet. */
export interface SteeredWords {
  readonly id: string;
  readonly taken: boolean;
}

/** What only a model writes: the results of its tools and other people's words are kept between these. */
const answers: readonly unknown[] = [
  "reasoning",
  "function_call",
  "custom_tool_call",
  "local_shell_call",
  "web_search_call",
];

/**
 * Reads one line of Codex's session file for words of ours; `null`: its model has answered a request with them. Codex takes them into the conversation
 * right before it asks its model, which may be refused: only the answer shows that they were read.
 */
export function followSteered(words: SteeredWords, line: string): SteeredWords | null {
  const { type, payload } = parseLine(line) ?? {};
  const fields = fieldsOf(payload);
  if (type === "event_msg" && fields?.type === "item_completed") {
    const item = fieldsOf(fields.item);
    return item?.type === "UserMessage" && item.client_id === words.id ? { ...words, taken: true } : words;
  }
  if (type !== "response_item" || !words.taken) return words;
  const isAnswer = answers.includes(fields?.type) || (fields?.type === "message" && fields.role === "assistant");
  return isAnswer ? null : words;
}
