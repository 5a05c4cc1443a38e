import { patternsOf, type ShippedFamily } from "./shipped.ts";

export const aider: ShippedFamily = {
  hint: /litellm\.|API provider|token limit|Applied edit|to the chat|SEARCH\/REPLACE/,
  patterns: [
    ...patternsOf("rate-limit", {
      "aider-rate-limit-error": /^litellm\.(?:exceptions\.)?RateLimitError: /,
      "aider-overloaded":
        /^litellm\.(?:exceptions\.)?(?:InternalServerError|ServiceUnavailableError): .{0,300}[Oo]verloaded/,
      "aider-provider-says": /^The API provider(?: has rate limited you\.|['’]s servers are down or overloaded\.)/,
    }),
    {
      kind: "asks-permission",
      name: "aider-confirm",
      pattern: /\(Y\)es\/\(N\)o[^[\]]{0,120}\[[A-Za-z]{1,12}\]:\s*$/,
      atCursor: true,
    },
    {
      kind: "at-prompt",
      name: "aider-prompt",
      pattern: /^(?:(?:ask|architect|code|context|help|diff|whole|udiff)(?: multi)?|multi)?>\s*$/,
      atCursor: true,
    },
    ...patternsOf("error", {
      "aider-litellm-error": /^litellm\.(?:exceptions\.)?[A-Z]\w{1,60}(?:Error|Timeout): /,
      "aider-edit-failed": /^(?:# )?\d{1,4} SEARCH\/REPLACE blocks? failed to match!/,
    }),
    ...patternsOf("context-limit", {
      "aider-token-limit":
        /^(?:Model \S{1,80} has hit a token limit!|Your estimated chat context of [\d,]{1,12} tokens exceeds the )/,
      "aider-context-exceeded": /^litellm\.(?:exceptions\.)?ContextWindowExceededError: /,
    }),
    ...patternsOf("file", {
      "aider-edit": /^Applied edit to (\S.{0,299})$/,
      "aider-added": /^Added (\S{1,300}) to the chat\.?$/,
    }),
  ],
};
