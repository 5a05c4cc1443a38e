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
