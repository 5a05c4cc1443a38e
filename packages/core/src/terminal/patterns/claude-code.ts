import { patternsOf, type ShippedFamily, type ShippedPattern } from "./shipped.ts";

/** The empty input below the end of a turn, with nothing said since. */
const endedBy = (what: NonNullable<ShippedPattern["what"]>, name: string, under: RegExp): ShippedPattern => ({
  kind: "at-prompt",
  name,
  what,
  pattern: /^[│\s]*[❯>](?:\s{1,3}Try ".{0,200})?[│\s]*$/,
  under,
  unless: /^(?:[●⏺] |[❯>] \S)/,
});

export const claudeCode: ShippedFamily = {
  hint: /limit|Unable to connect|API Error|context l|too long|^[^(]{0,20}(?:Edit|Update|Write|Create|Read)\(/i,
  patterns: [
    ...patternsOf(
      "rate-limit",
      {
        "claude-limit-hit": /^You['’]ve (?:hit|reached) your (?:[\w-]{1,20} ){0,3}limit(?=\s?[·∙•.|,]|\s*$)/i,
        "claude-usage-limit": /^Claude (?:AI |Code |Pro |Max )?usage limit reached(?=\s?[·∙•.|,]|\s*$)/i,
        "claude-window-limit":
          /^(?:5-hour|session|daily|weekly|(?:opus|sonnet|haiku|fable)(?: weekly)?) limit reached\s?[·∙•|]/i,
      },
      { limit: "usage" },
    ),
    {
      kind: "rate-limit",
      name: "claude-continues",
      limit: "usage",
      continues: true,
      pattern: /^Usage limit reached(?: again)? · (?:limit resets|continuing automatically)\b/i,
    },
    {
      kind: "rate-limit",
      name: "claude-api-429",
      limit: "rate",
      pattern: /^API Error(?:: | )(?:\(429\b|(?:Repeated )?429\b|[^(]{0,80}\(429\))/,
    },
    ...patternsOf(
      "rate-limit",
      {
        "claude-api-529": /^API Error(?:: | )(?:\(529\b|(?:Repeated )?529\b|[^(]{0,80}\(529\))/,
        "claude-api-overloaded": /^API Error\b.{0,300}(?:\boverloaded_error\b|\bOverloaded\b)/,
      },
      { limit: "overloaded" },
    ),
    {
      kind: "rate-limit",
      name: "claude-api-rate-limited",
      limit: "rate",
      pattern: /^API Error\b.{0,300}(?:\brate_limit_error\b|· Rate limited)/,
    },
    {
      kind: "asks-permission",
      name: "claude-trust-dialog",
      what: "trust",
      pattern: /^[│\s]*❯ (?:\d\. )?(?:No, exit|Yes, (?:I trust this folder|proceed))/,
      under: /\bIs this a project you created or one you trust\?|^[│\s]*Do you trust the files in this folder\?/,
    },
    {
      kind: "asks-permission",
      name: "claude-api-key-dialog",
      what: "api-key",
      pattern: /^[│\s]*❯ (?:\d\. )?(?:Yes|No)\b/,
      under: /^[│\s]*Do you want to use this API key\?/,
    },
    {
      kind: "asks-permission",
      name: "claude-plan-dialog",
      what: "plan",
      pattern: /^[│\s]*❯ \d\. (?:Yes|No)\b/,
      under: /^[│\s]*(?:Exit plan mode\?|Claude wants to exit plan mode|Ready to code\?|Would you like to proceed\?)/,
    },
    {
      kind: "asks-question",
      name: "claude-login-menu",
      what: "login",
      pattern: /^[│\s]*❯ (?:\d\. )?\S/,
      under: /^[│\s]*Select login method:/,
    },
    {
      kind: "asks-permission",
      name: "claude-permission-menu",
      pattern: /^[│\s]*❯ \d\. (?:Yes|No)\b/,
      under: /^[│\s]*Do you want to\b/,
    },
    {
      kind: "asks-question",
      name: "claude-question-menu",
      pattern: /^[│\s]*Enter to (?:select|confirm) · (?:.{1,60} to navigate · )?Esc to (?:cancel|exit)/,
      under: /^[│\s]*❯ (?:\d{1,2}\. |\[[ x✔]\] )/,
    },
    endedBy(
      "login",
      "claude-not-logged-in",
      /^(?:\s{1,4}⎿\s{1,4}|[●⏺] )(?:API Error: 401 )?(?:Not logged in|Login (?:expired|reached its time limit)|OAuth token revoked|Authentication required|Invalid (?:API key|auth token)|Please run \/login|Failed to authenticate)\b/,
    ),
    endedBy(
      "credits",
      "claude-out-of-credits",
      /^(?:\s{1,4}⎿\s{1,4}|[●⏺] )(?:Credit balance (?:is )?too low\b|You['’]re out of usage credits\b|Your organization is out of usage credits\b)/,
    ),
    // A limit is a wait, not an end.
    endedBy(
      "api-error",
      "claude-ended-by-error",
      /^(?:\s{1,4}⎿\s{1,4}|[●⏺] )API Error\b(?!.{0,300}(?:\b429\b|\b529\b|overloaded|rate.limit|Rate limited))/i,
    ),
    {
      kind: "at-prompt",
      name: "claude-prompt",
      pattern: /^[│\s]*[❯>](?:\s{1,3}Try ".{0,200})?[│\s]*$/,
      under: /^\s*[╭─]─{2}/,
    },
    ...patternsOf("error", {
      "claude-no-connection": /^Unable to connect to Anthropic services\s*$/,
      "claude-api-error": /^API Error(?:: | \()/,
    }),
    ...patternsOf("context-limit", {
      "claude-context-low": /(?:^|\s\s)Context (?:low \(\d{1,3}% remaining\)|left until auto-compact: 0%)/,
      "claude-context-limit": /^Context limit reached(?=\s?[·∙•.]|\s*$)/,
      "claude-too-long":
        /^(?:API Error\b.{0,300}\b)?(?:prompt is too long(?=: \d|["·]|\s?·|\s*$)|conversation (?:is )?too long\.)/i,
    }),
    {
      kind: "file",
      name: "claude-file",
      pattern: /^(?:Edit|MultiEdit|NotebookEdit|Update|Write|Create|Read)\(([^()]{1,300})\)/,
    },
  ],
};
