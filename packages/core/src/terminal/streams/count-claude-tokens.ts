import type { Reading } from "../reading.ts";
import { countOf, type Fields, fieldsOf, nameOf } from "./read-fields.ts";
import { countResponse, raiseTokens, type StreamState, saw } from "./stream-state.ts";

/** Without an id a repeated line cannot be told from a new one; the result line has the sum. */
export function countUsage(state: StreamState, line: Fields): Reading<StreamState> {
  const message = fieldsOf(line.message);
  const id = nameOf(message?.id) ?? nameOf(line.requestId);
  return id === null ? saw(state) : countResponse(state, id, spent(fieldsOf(message?.usage)));
}

/**
 * What is new in each request. Reads from the cache are left out: every request reads the whole conversation again at a tenth of the
 * price, so counting them would show the length of the conversation times its requests, not what was burnt.
 */
function spent(usage: Fields | null): number {
  const parts = ["input_tokens", "output_tokens", "cache_creation_input_tokens"];
  return parts.reduce((sum, part) => sum + (countOf(usage?.[part]) ?? 0), 0);
}

/** A result has the sum of its requests, and so corrects what the lines before it left out. */
export const countWholeRun = (state: StreamState, result: Fields): Reading<StreamState> =>
  raiseTokens(state, Math.max(spent(fieldsOf(result.usage)), spentByModels(result.modelUsage)));

/** Of all models together, sub-agents included; the plain usage of a result leaves those out. */
function spentByModels(value: unknown): number {
  const parts = ["inputTokens", "outputTokens", "cacheCreationInputTokens"];
  const models = Object.values(fieldsOf(value) ?? {}).map(fieldsOf);
  return models.flatMap((usage) => parts.map((part) => countOf(usage?.[part]) ?? 0)).reduce((a, b) => a + b, 0);
}
