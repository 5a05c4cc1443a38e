import type { ShippedFamily } from "./shipped.ts";

export const opencode: ShippedFamily = {
  hint: /(?!)/,
  patterns: [
    {
      kind: "asks-permission",
      name: "opencode-permission-box",
      pattern: /^\s*┃\s+Allow once\s+Allow always\s+Reject\b/,
      under: /^\s*┃\s+△ Permission required/,
    },
    {
      kind: "asks-question",
      name: "opencode-question-keys",
      pattern: /^\s*┃\s+(?:⇆ tab\s+)?(?:↑↓ select\s+)?enter (?:submit|toggle|confirm)\s+esc dismiss\b/,
    },
    {
      kind: "at-prompt",
      name: "opencode-prompt",
      pattern: /^\s*╹▀{4}/,
      under: /^\s*┃\s{2}\S{1,40} · \S/,
    },
  ],
};
