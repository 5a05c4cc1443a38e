/** What hooks of Claude Agent SDK answer. */
import type { Said } from "./claude-messages.ts";

export interface Answer {
  readonly hookSpecificOutput?: Output;
}
type Output =
  | { readonly hookEventName: "UserPromptSubmit"; readonly additionalContext: string }
  | { readonly hookEventName: "PostToolBatch"; readonly additionalContext: string }
  | { readonly hookEventName: "Stop"; readonly additionalContext: string }
  | {
      readonly hookEventName: "PreToolUse";
      readonly permissionDecision: "deny";
      readonly permissionDecisionReason: string;
    };

// biome-ignore lint/suspicious/noExplicitAny: the input of any event
type Hooks = { hooks: ((input: any) => Promise<Answer>)[] }[];

/** Whatever goes wrong in here is none of Claude's business. */
export const listen = (hook: (said: Said) => Answer | Promise<Answer>): Hooks => [
  {
    hooks: [
      async (said: Said) =>
        Promise.resolve(said)
          .then(hook)
          .catch(() => ({})),
    ],
  },
];
