import type { Act } from "../scenarios.ts";
import { type Json, keepPinging, listOf, newId, openEvents, retryAfter, sendJson, textOf, type Wire } from "./wire.ts";

const usage = {
  input_tokens: 1200,
  input_tokens_details: { cached_tokens: 800 },
  output_tokens: 42,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 1242,
};

/** OpenAI Responses: Codex. */
export const responses: Wire = {
  read(body) {
    const input = listOf(body["input"]);
    return {
      results: input.filter(({ type }) => /_call_output$/.test(String(type))).length,
      texts: input.filter(({ role }) => role === "user").map(({ content }) => textOf(content)),
      tools: listOf(body["tools"]).map(({ name, type }) => String(name ?? type)),
    };
  },

  refuse(response, refusal) {
    const { status, type, message, usage: isUsage, retryAfterSeconds = 0 } = refusal;
    if (isUsage === true) return sendJson(response, status, usageLimit(retryAfterSeconds), usedUp(retryAfterSeconds));
    if (status !== 400)
      return sendJson(response, status, { error: { message, type, code: type } }, retryAfter(refusal));
    // Too long a conversation is told in the stream, after the request was taken.
    const error = { code: "context_length_exceeded", message };
    openEvents(response)({ type: "response.failed", response: { id: newId("resp"), status: "failed", error } });
    response.end();
  },

  async send(response, { body, acts, tools, pingsForMs }) {
    const emit = openEvents(response);
    const about = { id: newId("resp"), object: "response", model: body["model"], output: [] };
    emit({ type: "response.created", response: { ...about, status: "in_progress" } });
    await keepPinging(response, pingsForMs, () => void response.write(": ping\n\n"));
    acts.forEach((act, output_index) => {
      const item = act.does === "say" ? message(act.text) : call(act, tools);
      const empty = "arguments" in item ? { arguments: "" } : "input" in item ? { input: "" } : { content: [] };
      emit({ type: "response.output_item.added", output_index, item: { ...item, ...empty } });
      if (act.does === "say") {
        const delta = { output_index, content_index: 0, item_id: item["id"], delta: act.text };
        emit({ type: "response.output_text.delta", ...delta });
      }
      emit({ type: "response.output_item.done", output_index, item });
    });
    emit({ type: "response.completed", response: { ...about, status: "completed", usage } });
    response.end();
  },
};

const epochSecondsIn = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

/** How much of each window of the quota is used, as it is told with every answer. */
const usedUp = (inSeconds: number): Record<string, string> => ({
  "x-codex-primary-used-percent": "100",
  "x-codex-primary-window-minutes": "300",
  "x-codex-primary-reset-at": String(epochSecondsIn(inSeconds)),
  "x-codex-secondary-used-percent": "30",
  "x-codex-secondary-window-minutes": "10080",
  "x-codex-secondary-reset-at": String(epochSecondsIn(400_000)),
});

/** What Codex with a login of ChatGPT is told of its account. The account is named, or Codex does not believe whether it may be used. */
export const codexQuota = (leftSeconds: number): Json => ({
  account_id: account,
  plan_type: "plus",
  rate_limit: {
    allowed: leftSeconds === 0,
    limit_reached: leftSeconds > 0,
    primary_window: {
      used_percent: leftSeconds > 0 ? 100 : 0,
      limit_window_seconds: 18_000,
      reset_after_seconds: leftSeconds,
      reset_at: epochSecondsIn(leftSeconds),
    },
    secondary_window: null,
  },
  credits: null,
});

/** The account of a login that nobody has. */
export const account = "account-of-nobody";

const usageLimit = (inSeconds: number): Json => ({
  error: {
    type: "usage_limit_reached",
    message: "The usage limit has been reached",
    plan_type: "plus",
    resets_at: epochSecondsIn(inSeconds),
    resets_in_seconds: inSeconds,
  },
});

const message = (text: string): Json => ({
  type: "message",
  id: newId("msg"),
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
});

function call(act: Exclude<Act, { does: "say" }>, tools: readonly string[]): Json {
  switch (act.does) {
    case "run":
      return shell(act.command, tools, act.asks === true);
    case "read":
      return shell(`cat ${act.file}`, tools, false);
    case "edit":
      return shell(`sed -i s/${act.old}/${act.new}/ ${act.file}`, tools, false);
    case "plan":
      return named("update_plan", { plan: [{ step: act.plan, status: "pending" }] });
    case "ask": {
      const options = act.options.map((label) => ({ label, description: `Use ${label}` }));
      return named("request_user_input", {
        questions: [{ id: "db", header: "Database", question: act.question, options }],
      });
    }
  }
}

function shell(command: string, tools: readonly string[], asks: boolean): Json {
  const leave = { sandbox_permissions: "require_escalated", justification: "May I make and remove a folder?" };
  if (tools.includes("exec_command")) return named("exec_command", { cmd: command, ...(asks ? leave : {}) });
  if (tools.includes("shell_command")) return named("shell_command", { command, ...(asks ? leave : {}) });
  return named("shell", { command: ["bash", "-lc", command], ...(asks ? leave : {}) });
}

const named = (name: string, input: Json): Json => ({
  type: "function_call",
  id: newId("fc"),
  call_id: newId("call"),
  name,
  arguments: JSON.stringify(input),
  status: "completed",
});
