import { join } from "node:path";
import type { Act } from "../scenarios.ts";
import { type Json, keepPinging, listOf, openEvents, retryAfter, sendJson, type Wire } from "./wire.ts";

const usageMetadata = { promptTokenCount: 1200, candidatesTokenCount: 42, totalTokenCount: 1242 };

/** Gemini generateContent and streamGenerateContent. */
export const gemini: Wire = {
  read(body) {
    const parts = listOf(body["contents"]).flatMap(({ role, parts }) => listOf(parts).map((part) => ({ role, part })));
    return {
      results: parts.filter(({ part }) => "functionResponse" in part).length,
      texts: parts
        .filter(({ role, part }) => role === "user" && "text" in part)
        .map(({ part }) => String(part["text"])),
      tools: listOf(body["tools"]).flatMap(({ functionDeclarations }) =>
        listOf(functionDeclarations).map(({ name }) => String(name)),
      ),
    };
  },

  refuse(response, refusal) {
    const { status, message } = refusal;
    const name = status === 429 ? "RESOURCE_EXHAUSTED" : status === 400 ? "INVALID_ARGUMENT" : "UNAVAILABLE";
    sendJson(response, status, { error: { code: status, message, status: name } }, retryAfter(refusal));
  },

  async send(response, { acts, folder, pingsForMs }) {
    const parts = acts.map(
      (act): Json => (act.does === "say" ? { text: act.text } : { functionCall: call(act, folder) }),
    );
    if (!response.req.url?.includes("stream")) return sendJson(response, 200, chunk(parts, "STOP"));
    const emit = openEvents(response);
    const thought = { text: "**Thinking**\nStill at it.", thought: true };
    await keepPinging(response, pingsForMs, () => emit(chunk([thought])));
    for (const part of parts) emit(chunk([part]));
    emit(chunk([], "STOP"));
    response.end();
  },
};

const chunk = (parts: readonly Json[], finishReason?: "STOP"): Json => ({
  candidates: [{ index: 0, content: { role: "model", parts }, ...(finishReason ? { finishReason } : {}) }],
  usageMetadata,
  modelVersion: "gemini-2.5-pro",
});

function call(act: Exclude<Act, { does: "say" }>, folder: string): Json {
  switch (act.does) {
    case "run":
      return { name: "run_shell_command", args: { command: act.command, description: "Run a command" } };
    case "read":
      return { name: "read_file", args: { file_path: join(folder, act.file) } };
    case "edit": {
      const edit = { old_string: act.old, new_string: act.new, instruction: "Change the greeting" };
      return { name: "replace", args: { file_path: join(folder, act.file), ...edit } };
    }
    case "plan":
      return { name: "exit_plan_mode", args: { plan: act.plan } };
    case "ask": {
      const options = act.options.map((label) => ({ label, description: `Use ${label}` }));
      const question = { question: act.question, header: "Database", type: "choice", options };
      return { name: "ask_user", args: { questions: [question] } };
    }
  }
}
