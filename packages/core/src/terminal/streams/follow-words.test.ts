import { describe, expect, it } from "vitest";
import { followWords, type TypedWords } from "./follow-words.ts";

const words = "FACT: The same call with the same result 5 times and nothing new.";
const line = (data: object): string => JSON.stringify({ type: "x", data });
const text = (messageID: string, said: string) => line({ part: { type: "text", messageID, text: said } });
const answer = (parentID: string) => line({ info: { role: "assistant", parentID } });

/** After how many lines the model was asked with our words; `null`: never. */
function readAfter(...lines: string[]): number | null {
  let typed: TypedWords = { words, message: null };
  for (const [at, each] of lines.entries()) {
    const next = followWords(typed, each);
    if (next === null) return at + 1;
    typed = next;
  }
  return null;
}

describe("words typed into opencode", () => {
  it("are read by its model with the first answer to the message that has them", () => {
    expect(readAfter(answer("msg_1"), text("msg_2", words), answer("msg_1"), answer("msg_2"))).toBe(4);
  });

  it("are not read while they wait, nor with an answer to somebody else's words", () => {
    expect(readAfter(text("msg_2", words), answer("msg_1"))).toBeNull();
    expect(readAfter(text("msg_2", "FACT: something else."), answer("msg_2"))).toBeNull();
    expect(readAfter(line({}), "no json", line({ info: { role: "assistant" } }))).toBeNull();
  });
});
