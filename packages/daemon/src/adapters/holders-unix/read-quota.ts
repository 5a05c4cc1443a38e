import { type DurationMs, days, type EpochMs } from "@rouse/contract";
import { z } from "zod";
import type { Quota } from "../../ports/holders.ts";

/** How a program is asked what is left of its account's quota, on its input and output. */
export interface WayToAsk {
  readonly args: readonly string[];
  /** What is written to its input, as lines of JSON. */
  readonly says: readonly object[];
  /** An argument in the agent's command with which it may use another account than the one that would be asked. */
  readonly elsewhere: RegExp;
  /** For one conversation. The listener takes each line once and returns `null` until the answer is complete. */
  listen(): (line: unknown, now: EpochMs) => Quota | null;
}

export const unknown = (because: Extract<Quota, { kind: "unknown" }>["because"]): Quota => ({
  kind: "unknown",
  because,
});

/** The longest window is a week. */
const longestWindow: DurationMs = days(8);

interface Window {
  /** Percent. */
  readonly used: number;
  readonly resetsAt: EpochMs | null;
}

/** Used up until the last of the full windows ends. One impossible end makes the whole answer worthless. */
function usedUp(full: readonly Window[], now: EpochMs): Quota {
  const resets = full.flatMap(({ resetsAt }) => resetsAt ?? []);
  // NaN fails this as well.
  if (!resets.every((at) => at > now && at <= now + longestWindow)) return unknown("nonsense");
  const isNamed = full.length > 0 && resets.length === full.length;
  return { kind: "used-up", resetsInMs: isNamed ? Math.max(...resets) - now : null };
}

const isFull = ({ used }: Window): boolean => used >= 100;
const isThere = <T>(value: T | null | undefined): value is T => value != null;

const CodexWindow = z.object({ usedPercent: z.number(), resetsAt: z.number().nullish() }).transform(
  ({ usedPercent, resetsAt }): Window => ({
    used: usedPercent,
    resetsAt: isThere(resetsAt) ? resetsAt * 1000 : null,
  }),
);
const CodexLogin = z.object({ authMethod: z.string().nullable(), requiresOpenaiAuth: z.boolean().nullable() });
const CodexLimits = z.object({
  /** Codex itself says that a recovery must not be concluded from percentages; versions before it had nothing else. */
  ordinaryUsageAllowed: z.boolean().nullish(),
  rateLimits: z.object({
    primary: CodexWindow.nullish(),
    secondary: CodexWindow.nullish(),
    credits: z.object({ hasCredits: z.boolean(), unlimited: z.boolean() }).nullish(),
  }),
});

const loginId = 2;
const limitsId = 3;

/** JSON-RPC with `codex app-server`; starts no thread, no tool server and no hook. */
export const askCodex: WayToAsk = {
  args: ["app-server"],
  says: [
    {
      id: 1,
      method: "initialize",
      params: { clientInfo: { name: "rouse", title: null, version: "1" }, capabilities: null },
    },
    { method: "initialized" },
    { id: loginId, method: "getAuthStatus", params: { includeToken: false, refreshToken: false } },
    { id: limitsId, method: "account/rateLimits/read", params: { excludeResetCreditDetails: true } },
  ],
  elsewhere: /^--(?:oss|local-provider|profile)\b|^-p|model_provider|chatgpt_base_url/,
  listen() {
    const replies = new Map<number, unknown>();
    return (line, now) => {
      const reply = CodexReply.safeParse(line);
      // The first reply to a request counts.
      if (!reply.success || replies.has(reply.data.id)) return null;
      replies.set(reply.data.id, reply.data.result);
      if (!replies.has(loginId) || !replies.has(limitsId)) return null;
      return readCodex(replies.get(loginId), replies.get(limitsId), now);
    };
  },
};

function readCodex(login: unknown, limits: unknown, now: EpochMs): Quota {
  // Codex tells the limits of the login even when the agent uses another provider with a key of its own.
  const who = CodexLogin.safeParse(login);
  if (!who.success) return unknown("no-answer");
  if (who.data.requiresOpenaiAuth !== true || who.data.authMethod !== "chatgpt") return unknown("another-account");
  if (limits === undefined) return unknown("no-answer");
  const told = CodexLimits.safeParse(limits);
  return told.success ? judgeCodex(told.data, now) : unknown("nonsense");
}

function judgeCodex({ ordinaryUsageAllowed: allowed, rateLimits }: z.infer<typeof CodexLimits>, now: EpochMs): Quota {
  const { primary, secondary, credits } = rateLimits;
  const full = [primary, secondary].filter(isThere).filter(isFull);
  if (allowed === true || (!isThere(allowed) && full.length === 0)) return { kind: "free" };
  if (credits?.hasCredits === true || credits?.unlimited === true) return unknown("pays-for-more");
  return usedUp(full, now);
}

const CodexReply = z.object({ id: z.number(), result: z.unknown().optional() });

const ClaudeWindow = z.object({ utilization: z.number().nullish(), resets_at: z.string().max(64).nullish() }).transform(
  ({ utilization, resets_at }): Window => ({
    used: utilization ?? 0,
    resetsAt: isThere(resets_at) ? Date.parse(resets_at) : null,
  }),
);
const ClaudeUsage = z.object({
  rate_limits_available: z.boolean(),
  /** Windows of one model are not looked at: nobody knows which one the agent will use. */
  rate_limits: z
    .object({
      five_hour: ClaudeWindow.nullish(),
      seven_day: ClaudeWindow.nullish(),
      extra_usage: z.object({ is_enabled: z.boolean(), utilization: z.number().nullish() }).nullish(),
    })
    .nullable(),
});

const usageId = "rouse-quota";
const ClaudeReply = z.object({
  type: z.literal("control_response"),
  response: z.object({ request_id: z.literal(usageId), subtype: z.string(), response: z.unknown().optional() }),
});

/** The control request of Claude Code's SDK, in safe mode: no hook runs and no tool server is started. */
export const askClaude: WayToAsk = {
  args: [
    ...["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"],
    ...["--safe-mode", "--no-session-persistence"],
  ],
  says: [{ type: "control_request", request_id: usageId, request: { subtype: "get_usage", skip_behaviors: true } }],
  elsewhere: /^--(?:bare|settings|setting-sources)\b/,
  listen: () => (line, now) => {
    const reply = ClaudeReply.safeParse(line);
    if (!reply.success) return null;
    const { subtype, response } = reply.data.response;
    if (subtype !== "success") return unknown("no-answer");
    const told = ClaudeUsage.safeParse(response);
    return told.success ? judgeClaude(told.data, now) : unknown("nonsense");
  },
};

/** An account that pays by API key has no such limits, and a token made for scripts may not see them. */
function judgeClaude({ rate_limits_available, rate_limits }: z.infer<typeof ClaudeUsage>, now: EpochMs): Quota {
  if (!rate_limits_available) return unknown("another-account");
  if (rate_limits === null) return unknown("no-answer");
  const { five_hour, seven_day, extra_usage } = rate_limits;
  const full = [five_hour, seven_day].filter(isThere).filter(isFull);
  if (full.length === 0) return { kind: "free" };
  if (extra_usage?.is_enabled === true && (extra_usage.utilization ?? 0) < 100) return unknown("pays-for-more");
  return usedUp(full, now);
}
