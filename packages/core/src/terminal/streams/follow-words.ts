import type { AgentFamily } from "@rouse/contract";
import { fieldsOf, parseLine, textOf } from "./read-fields.ts";

/** Words typed into a program, on their way to its model. `message`: the message that has them, not answered yet. */
export interface TypedWords {
  readonly words: string;
  readonly message: string | null;
}

/** Programs whose session file links an answer to its message. */
export const answersByMessage = (family: AgentFamily): boolean => family === "opencode";

/** Reads a line of a session file; `null`: the model was asked with our words. */
export function followWords(typed: TypedWords, line: string): TypedWords | null {
  const data = fieldsOf(parseLine(line)?.data);
  const part = fieldsOf(data?.part);
  if (part?.type === "text" && (textOf(part.text) ?? "").includes(typed.words))
    return { ...typed, message: textOf(part.messageID) };
  const info = fieldsOf(data?.info);
  const isAnswer = info?.role === "assistant" && typed.message !== null && info.parentID === typed.message;
  return isAnswer ? null : typed;
}

/** Words put into a turn of Codex. `taken`: its conversation has them, not answered yet. */
export interface SteeredWords {
  readonly id: string;
  readonly taken: boolean;
}

/** What only a model writes; tool results and people's words come between. */
const answers: readonly unknown[] = [
  "reasoning",
  "function_call",
  "custom_tool_call",
  "local_shell_call",
  "web_search_call",
];

/**
 * Reads a line of Codex's session file; `null`: its model answered a request with our words. Codex adds them right
 * before it asks its model, which may refuse: only an answer shows that they were read.
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
