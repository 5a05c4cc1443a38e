import type { ShippedFamily } from "./shipped.ts";

export const codex: ShippedFamily = {
  hint: /limit|status (?:429|503|529)|capacity|high demand|context window|^[^\w]{0,12}(?:Edited|Added|Deleted|Updated|Read) \S/i,
  patterns: [
    {
      kind: "rate-limit",
      name: "codex-usage-limit",
      pattern: /^(?:ERROR: |error: )?You['’]ve hit your usage limit\b/i,
    },
    {
      kind: "rate-limit",
      name: "codex-retry-limit",
      pattern: /^(?:[a-z]{1,20} ?[a-z]{0,20}: )?exceeded retry limit, last status: (?:429|503|529)\b/i,
    },
    {
      kind: "rate-limit",
      name: "codex-status-429",
      pattern: /^(?:[a-z]{1,20} ?[a-z]{0,20}: )?unexpected status (?:429|529) /i,
    },
    {
      kind: "rate-limit",
      name: "codex-rate-limit",
      pattern:
        /^(?:[a-z]{1,20} ?[a-z]{0,20}: )?(?:stream disconnected before completion: )?Rate limit reached for \S{1,60} (?:\(|in org|on )/i,
    },
    {
      kind: "rate-limit",
      name: "codex-at-capacity",
      pattern: /^(?:Selected model is at capacity\.|We['’]re currently experiencing high demand\b)/,
    },
    {
      kind: "asks-permission",
      name: "codex-approval-menu",
      pattern: /^[│▌\s]*› \d\. (?:Yes|No)\b/,
      under:
        /^[│▌\s]*(?:Would you like to (?:run|make|grant|allow|apply)\b|Do you (?:want to|trust)\b|Allow (?:command|Codex)\b)/,
    },
    { kind: "asks-permission", name: "codex-allow-command", pattern: /^[│▌\s]*Allow command\?(?:\s|$)/ },
    {
      kind: "asks-question",
      name: "codex-question",
      pattern: /^[│▌\s]*(?:tab to add notes \| )?enter to submit (?:answer|all)\b/i,
    },
    { kind: "at-prompt", name: "codex-prompt", pattern: /^\s*›(?:\s|$)(?!\s?\d\. )/, atCursor: true },
    {
      kind: "context-limit",
      name: "codex-out-of-room",
      pattern:
        /^(?:ERROR: )?(?:Codex ran out of room in the model['’]s context window|Your input exceeds the context window\b)/i,
    },
    {
      kind: "file",
      name: "codex-file-changed",
      pattern: /^(?:Edited|Added|Deleted|Updated) (\S{1,300}) \(\+\d{1,7} -\d{1,7}\)/,
    },
    { kind: "file", name: "codex-file-read", pattern: /^Read ((?=\S{0,300}[./])\S{1,300})$/ },
  ],
};
