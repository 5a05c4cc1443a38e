import type { ShippedFamily } from "./shipped.ts";

export const aider: ShippedFamily = {
  hint: /litellm\.|API provider|token limit|Applied edit|to the chat|SEARCH\/REPLACE/,
  patterns: [
    { kind: "rate-limit", name: "aider-rate-limit-error", pattern: /^litellm\.(?:exceptions\.)?RateLimitError: / },
    {
      kind: "rate-limit",
      name: "aider-overloaded",
      pattern: /^litellm\.(?:exceptions\.)?(?:InternalServerError|ServiceUnavailableError): .{0,300}[Oo]verloaded/,
    },
    {
      kind: "rate-limit",
      name: "aider-provider-says",
      pattern: /^The API provider(?: has rate limited you\.|['’]s servers are down or overloaded\.)/,
    },
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
    {
      kind: "error",
      name: "aider-litellm-error",
      pattern: /^litellm\.(?:exceptions\.)?[A-Z]\w{1,60}(?:Error|Timeout): /,
    },
    {
      kind: "error",
      name: "aider-edit-failed",
      pattern: /^(?:# )?\d{1,4} SEARCH\/REPLACE blocks? failed to match!/,
    },
    {
      kind: "context-limit",
      name: "aider-token-limit",
      pattern:
        /^(?:Model \S{1,80} has hit a token limit!|Your estimated chat context of [\d,]{1,12} tokens exceeds the )/,
    },
    {
      kind: "context-limit",
      name: "aider-context-exceeded",
      pattern: /^litellm\.(?:exceptions\.)?ContextWindowExceededError: /,
    },
    { kind: "file", name: "aider-edit", pattern: /^Applied edit to (\S.{0,299})$/ },
    { kind: "file", name: "aider-added", pattern: /^Added (\S{1,300}) to the chat\.?$/ },
  ],
};
