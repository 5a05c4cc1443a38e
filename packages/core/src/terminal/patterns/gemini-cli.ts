import { patternsOf, type ShippedFamily } from "./shipped.ts";

export const geminiCli: ShippedFamily = {
  hint: /API Error|failed with status|limit reached|high demand|token count|context window|(?:Edit|WriteFile|ReadFile|Writing to)\s/i,
  patterns: [
    ...patternsOf("rate-limit", {
      "gemini-api-429":
        /^\[?API Error: .{0,600}(?:\bRESOURCE_EXHAUSTED\b|"code": ?(?:429|503)\b|You exceeded your current quota|The model is overloaded|Quota exceeded for quota metric)/,
      "gemini-attempt-429": /^Attempt \d{1,3} failed with status (?:429|503)\b/,
    }),
    {
      kind: "rate-limit",
      name: "gemini-usage-limit",
      limit: "usage",
      pattern: /^(?:Usage|Daily|Quota) limit reached for (?:gemini-\S{1,60}|all \w{1,20} models)(?=[\s.]|$)/,
    },
    {
      kind: "rate-limit",
      name: "gemini-high-demand",
      limit: "overloaded",
      pattern: /^We are currently experiencing high demand\b/,
    },
    {
      kind: "asks-permission",
      name: "gemini-trust-dialog",
      what: "trust",
      pattern: /^[│\s]*● \d\. (?:Trust|Don['’]t trust)\b/,
      under: /^[│\s]*Do you trust the files in this folder\?/,
    },
    {
      kind: "asks-question",
      name: "gemini-login-menu",
      what: "login",
      pattern: /^[│\s]*\(Use Enter to select\)/,
      under: /^[│\s]*How would you like to authenticate\b/,
    },
    {
      kind: "asks-question",
      name: "gemini-loop-dialog",
      pattern: /^[│\s]*● \d\. (?:Keep|Disable) loop detection\b/,
      under: /^[│\s]*\?\s+A potential loop was detected/,
    },
    {
      kind: "asks-permission",
      name: "gemini-confirmation-menu",
      pattern: /^[│\s]*● \d\. (?:Yes|No|Allow|Modify)\b/,
      under: /^[│\s]*(?:Apply this change\?|Allow execution(?: of)?\b|Do you want to\b)/,
    },
    {
      kind: "asks-question",
      name: "gemini-question-menu",
      pattern: /^[│\s]*Enter to (?:select|submit) · (?:.{1,60} to navigate · )?Esc to cancel/,
    },
    { kind: "at-prompt", name: "gemini-prompt", pattern: /^[│\s]*[>*!]\s{1,4}Type your message\b/ },
    { kind: "error", name: "gemini-api-error", pattern: /^\[API Error: / },
    ...patternsOf("context-limit", {
      "gemini-token-count":
        /^(?:\[?API Error: .{0,300})?The input token count (?:\(\d{1,9}\) )?exceeds the maximum number of tokens/,
      "gemini-context-window":
        /^Sending this message \(.{1,30} tokens\) might exceed the (?:remaining )?context window/,
    }),
    {
      kind: "file",
      name: "gemini-file",
      pattern: /^(?:Edit|WriteFile|ReadFile)\s{1,4}(?:Writing to )?((?=[^\s:]{0,300}[./])[^\s:]{1,300})(?=:|\s|$)/,
    },
  ],
};
