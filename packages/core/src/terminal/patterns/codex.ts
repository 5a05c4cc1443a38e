import { patternsOf, type ShippedFamily, type ShippedPattern } from "./shipped.ts";

const prompt = /^\s*›(?:\s|$)(?!\s?\d\. )/;

/** The input below the end of a turn, with nothing said since. */
const endedBy = (what: NonNullable<ShippedPattern["what"]>, name: string, under: RegExp): ShippedPattern => ({
  kind: "at-prompt",
  name,
  what,
  pattern: prompt,
  atCursor: true,
  under,
  unless: /^[•■›] /,
});

export const codex: ShippedFamily = {
  hint: /limit|status (?:429|503|529)|capacity|high demand|context window|^[^\w]{0,12}(?:Edited|Added|Deleted|Updated|Read) \S/i,
  patterns: [
    {
      kind: "rate-limit",
      name: "codex-usage-limit",
      limit: "usage",
      pattern: /^(?:ERROR: |error: )?You['’]ve hit your usage limit\b/i,
    },
    {
      kind: "rate-limit",
      name: "codex-retry-limit",
      pattern: /^(?:[a-z]{1,20} ?[a-z]{0,20}: )?exceeded retry limit, last status: (?:429|503|529)\b/i,
    },
    ...patternsOf(
      "rate-limit",
      {
        "codex-status-429": /^(?:[a-z]{1,20} ?[a-z]{0,20}: )?unexpected status (?:429|529) /i,
        "codex-rate-limit":
          /^(?:[a-z]{1,20} ?[a-z]{0,20}: )?(?:stream disconnected before completion: )?Rate limit reached for \S{1,60} (?:\(|in org|on )/i,
      },
      { limit: "rate" },
    ),
    {
      kind: "rate-limit",
      name: "codex-at-capacity",
      limit: "overloaded",
      pattern: /^(?:Selected model is at capacity\.|We['’]re currently experiencing high demand\b)/,
    },
    {
      kind: "asks-permission",
      name: "codex-trust-dialog",
      what: "trust",
      pattern: /^[│▌\s]*[›>] \d\. (?:Trust|Yes|No|Back)\b/,
      under: /^[│▌\s]*(?:Trust this folder\?|Do you trust\b)/,
    },
    {
      kind: "asks-question",
      name: "codex-login-menu",
      what: "login",
      pattern: /^[│▌\s]*[›>] \d\. (?:Sign in|Use)\b/,
      under: /^\s*(?:Choose how you want to use Codex|Welcome to Codex)\b/,
    },
    {
      kind: "asks-question",
      name: "codex-update-menu",
      pattern: /^[│▌\s]*[›>] \d\. (?:Update now|Skip)\b/,
      under: /\bUpdate available!/,
    },
    {
      kind: "asks-permission",
      name: "codex-approval-menu",
      pattern: /^[│▌\s]*› \d\. (?:Yes|No)\b/,
      under:
        /^[│▌\s]*(?:Would you like to (?:run|make|grant|allow|apply)\b|Do you want to\b|Allow (?:command|Codex)\b)/,
    },
    { kind: "asks-permission", name: "codex-allow-command", pattern: /^[│▌\s]*Allow command\?(?:\s|$)/ },
    {
      kind: "asks-question",
      name: "codex-question",
      pattern: /^[│▌\s]*(?:tab to add notes \| )?enter to submit (?:answer|all)\b/i,
    },
    // Every menu marks one of its choices, and its keys stand below it as the last thing on the screen.
    {
      kind: "asks-question",
      name: "codex-menu",
      pattern: /^[│▌\s]*(?:press )?enter (?:to )?(?:select|confirm|continue)\b.{0,40}\besc\b/i,
      notOver: /\S/,
      under: /^[│▌\s]*[›>] \d{1,2}\. /,
    },
    endedBy(
      "login",
      "codex-not-logged-in",
      /^■ (?:unexpected status 401\b|Your access token could not be refreshed|.{0,80}\bPlease (?:log|sign) in\b)/i,
    ),
    endedBy("credits", "codex-out-of-credits", /^■ Quota exceeded\./),
    // A limit is a wait, not an end.
    endedBy(
      "api-error",
      "codex-ended-by-error",
      /^■ (?:unexpected status (?!429|503|529)\d|stream disconnected|exceeded retry limit, last status: (?!429|503|529)\d)/i,
    ),
    // Until its session is there, Codex draws no more than this below its input.
    { kind: "at-prompt", name: "codex-prompt", pattern: prompt, atCursor: true, notOver: /^\s*\? for shortcuts$/ },
    {
      kind: "context-limit",
      name: "codex-out-of-room",
      pattern:
        /^(?:ERROR: )?(?:Codex ran out of room in the model['’]s context window|Your input exceeds the context window\b)/i,
    },
    ...patternsOf("file", {
      "codex-file-changed": /^(?:Edited|Added|Deleted|Updated) (\S{1,300}) \(\+\d{1,7} -\d{1,7}\)/,
      "codex-file-read": /^Read ((?=\S{0,300}[./])\S{1,300})$/,
    }),
  ],
};
