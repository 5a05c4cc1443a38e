import { join } from "node:path";
import type { Act, Refusal } from "../scenarios.ts";
import { type Json, keepPinging, listOf, newId, openEvents, retryAfter, sendJson, textOf, type Wire } from "./wire.ts";

const usage = { input_tokens: 1200, cache_creation_input_tokens: 0, cache_read_input_tokens: 8000, output_tokens: 1 };

/** Anthropic Messages: Claude Code, and opencode, whose tools have other names. */
export const anthropic: Wire = {
  read(body) {
    const messages = listOf(body["messages"]);
    // Claude Code passes on what a person says in the middle of a turn as a system message.
    const parts = messages
      .filter(({ role }) => role === "user" || role === "system")
      .flatMap(({ content }): Json[] =>
        typeof content === "string" ? [{ type: "text", text: content }] : listOf(content),
      );
    return {
      results: parts.filter(({ type }) => type === "tool_result").length,
      texts: parts.map((part) => textOf(part["text"] ?? part["content"])),
      tools: listOf(body["tools"]).map(({ name }) => String(name)),
    };
  },

  refuse(response, refusal) {
    const { status, type, message } = refusal;
    sendJson(
      response,
      status,
      { type: "error", error: { type, message } },
      { ...retryAfter(refusal), ...quota(refusal) },
    );
  },

  async send(response, { body, acts, tools, folder, pingsForMs }) {
    const message = { id: newId("msg"), type: "message", role: "assistant", model: body["model"], stop_sequence: null };
    if (body["stream"] !== true) {
      const content = acts.flatMap((act) => (act.does === "say" ? [{ type: "text", text: act.text }] : []));
      return sendJson(response, 200, { ...message, content, stop_reason: "end_turn", usage });
    }
    const emit = openEvents(response);
    emit({ type: "message_start", message: { ...message, content: [], stop_reason: null, usage } });
    await keepPinging(response, pingsForMs, () => emit({ type: "ping" }));
    acts.forEach((act, index) => {
      const [block, delta] = act.does === "say" ? words(act.text) : call(act, tools, folder);
      emit({ type: "content_block_start", index, content_block: block });
      emit({ type: "content_block_delta", index, delta });
      emit({ type: "content_block_stop", index });
    });
    const stop_reason = acts.some(({ does }) => does !== "say") ? "tool_use" : "end_turn";
    emit({ type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 42 } });
    emit({ type: "message_stop" });
    response.end();
  },
};

/** Where Claude Code looks for the reset of a subscription. */
function quota({ usage: isUsage, retryAfterSeconds = 0 }: Refusal): Record<string, string> {
  if (isUsage !== true) return {};
  const reset = String(Math.floor(Date.now() / 1000) + retryAfterSeconds);
  return {
    "anthropic-ratelimit-unified-status": "rejected",
    "anthropic-ratelimit-unified-reset": reset,
    "anthropic-ratelimit-unified-representative-claim": "five_hour",
    "anthropic-ratelimit-unified-5h-status": "rejected",
    "anthropic-ratelimit-unified-5h-reset": reset,
    "anthropic-ratelimit-unified-5h-utilization": "1.0",
  };
}

/** What Claude Code with a login is told of its subscription. */
export const claudeQuota = (leftSeconds: number): Json => ({
  five_hour: {
    utilization: leftSeconds > 0 ? 100 : 0,
    resets_at: new Date(Date.now() + (leftSeconds || 18_000) * 1000).toISOString(),
  },
  seven_day: { utilization: 30, resets_at: new Date(Date.now() + 400_000_000).toISOString() },
});

const words = (text: string): [Json, Json] => [
  { type: "text", text: "" },
  { type: "text_delta", text },
];

function call(act: Exclude<Act, { does: "say" }>, tools: readonly string[], folder: string): [Json, Json] {
  const [name, input] = nameCall(act, tools, folder);
  return [
    { type: "tool_use", id: newId("toolu"), name, input: {} },
    { type: "input_json_delta", partial_json: JSON.stringify(input) },
  ];
}

const behind = (act: Act & { does: "run" }): Json => (act.behind === true ? { run_in_background: true } : {});

function nameCall(act: Exclude<Act, { does: "say" }>, tools: readonly string[], folder: string): [string, Json] {
  const claude = tools.includes("Bash");
  switch (act.does) {
    case "run":
      return [claude ? "Bash" : "bash", { command: act.command, description: "Run a command", ...behind(act) }];
    case "read": {
      const path = join(folder, act.file);
      return claude ? ["Read", { file_path: path }] : ["read", { filePath: path }];
    }
    case "edit": {
      const path = join(folder, act.file);
      return claude
        ? ["Edit", { file_path: path, old_string: act.old, new_string: act.new }]
        : ["edit", { filePath: path, oldString: act.old, newString: act.new }];
    }
    case "plan":
      return ["ExitPlanMode", { plan: act.plan }];
    case "ask": {
      const options = act.options.map((label) => ({ label, description: `Use ${label}` }));
      const question = { question: act.question, header: "Database", options };
      return claude
        ? ["AskUserQuestion", { questions: [{ ...question, multiSelect: false }] }]
        : ["question", { questions: [{ ...question, multiple: false }] }];
    }
  }
}
