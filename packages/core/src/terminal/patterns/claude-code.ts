import type { ShippedFamily } from "./shipped.ts";

export const claudeCode: ShippedFamily = {
  hint: /limit|API Error|context l|too long|^[^(]{0,20}(?:Edit|Update|Write|Create|Read)\(/i,
  patterns: [
    {
      kind: "rate-limit",
      name: "claude-limit-hit",
      pattern: /^You['’]ve (?:hit|reached) your (?:[\w-]{1,20} ){0,3}limit(?=\s?[·∙•.|,]|\s*$)/i,
    },
    {
      kind: "rate-limit",
      name: "claude-usage-limit",
      pattern: /^Claude (?:AI |Code |Pro |Max )?usage limit reached(?=\s?[·∙•.|,]|\s*$)/i,
    },
    {
      kind: "rate-limit",
      name: "claude-window-limit",
      pattern: /^(?:5-hour|session|daily|weekly|(?:opus|sonnet|haiku|fable)(?: weekly)?) limit reached\s?[·∙•|]/i,
    },
    {
      kind: "rate-limit",
      name: "claude-limit-continues",
      pattern: /^Usage limit reached · (?:continuing automatically|limit resets) /,
    },
    {
      kind: "rate-limit",
      name: "claude-api-429",
      pattern: /^API Error(?:: | )(?:\((?:429|529)\b|(?:Repeated )?(?:429|529)\b|[^(]{0,80}\((?:429|529)\))/,
    },
    {
      kind: "rate-limit",
      name: "claude-api-overloaded",
      pattern: /^API Error\b.{0,300}(?:\boverloaded_error\b|\brate_limit_error\b|\bOverloaded\b|· Rate limited)/,
    },
    {
      kind: "asks-permission",
      name: "claude-permission-menu",
      pattern: /^[│\s]*❯ \d\. (?:Yes|No)\b/,
      under:
        /^[│\s]*(?:Do you (?:want to|trust)\b|Would you like to proceed\?|Is this a project you created or one you trust\?)/,
    },
    {
      kind: "asks-question",
      name: "claude-question-menu",
      pattern: /^[│\s]*Enter to (?:select|confirm) · (?:.{1,60} to navigate · )?Esc to (?:cancel|exit)/,
      under: /^[│\s]*❯ (?:\d{1,2}\. |\[[ x✔]\] )/,
    },
    {
      kind: "at-prompt",
      name: "claude-prompt",
      pattern: /^[│\s]*[❯>](?:\s{1,3}Try ".{0,200})?[│\s]*$/,
      under: /^\s*[╭─]─{2}/,
    },
    { kind: "error", name: "claude-api-error", pattern: /^API Error(?:: | \()/ },
    {
      kind: "context-limit",
      name: "claude-context-low",
      pattern: /(?:^|\s\s)Context (?:low \(\d{1,3}% remaining\)|left until auto-compact: 0%)/,
    },
    { kind: "context-limit", name: "claude-context-limit", pattern: /^Context limit reached(?=\s?[·∙•.]|\s*$)/ },
    {
      kind: "context-limit",
      name: "claude-too-long",
      pattern:
        /^(?:API Error\b.{0,300}\b)?(?:prompt is too long(?=: \d|["·]|\s?·|\s*$)|conversation (?:is )?too long\.)/i,
    },
    {
      kind: "file",
      name: "claude-file",
      pattern: /^(?:Edit|MultiEdit|NotebookEdit|Update|Write|Create|Read)\(([^()]{1,300})\)/,
    },
  ],
};
