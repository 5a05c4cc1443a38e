import { afterEach, expect, it } from "vitest";
import { afterwards, cleanUp } from "../clean-up.ts";
import type { Scenario } from "./scenarios.ts";
import { type ModelRun, startScriptedModel } from "./scripted-model.ts";

afterEach(cleanUp);

async function beginRun(scenario: Scenario): Promise<ModelRun> {
  const model = await startScriptedModel();
  afterwards(model.stop);
  return model.begin(scenario, "/work");
}

const ask = (run: ModelRun, path: string, body: object): Promise<Response> =>
  fetch(`${run.url}${path}`, { method: "POST", body: JSON.stringify(body) });

const result = { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "no such file" }] };
const message = (text: string) => ({ role: "user", content: [{ type: "text", text }] });
const claude = (...messages: object[]) => ({
  model: "m",
  stream: true,
  tools: [{ name: "Bash" }, { name: "Read" }],
  messages,
});

it("answers a Messages request with the call that the scenario has next, by the number of results in it", async () => {
  const run = await beginRun("normal");
  const first = await (await ask(run, "/v1/messages", claude(message("go")))).text();
  expect(first).toContain("ls -la");
  expect(first).toContain('"stop_reason":"tool_use"');
  const second = await (await ask(run, "/v1/messages", claude(message("go"), result))).text();
  expect(second).toContain("/work/hello.txt");
  expect(run.requests.map(({ results, said }) => [results, said])).toEqual([
    [0, "answer"],
    [1, "answer"],
  ]);
});

it("speaks to tools by the names its program gave them", async () => {
  const run = await beginRun("loop");
  const opencode = { stream: true, tools: [{ name: "bash" }], messages: [message("go")] };
  expect(await (await ask(run, "/v1/messages", opencode)).text()).toContain('"name":"bash"');
});

it("answers a Responses request in the events that Codex reads", async () => {
  const run = await beginRun("loop");
  const input = [message("go"), { type: "function_call_output", call_id: "c", output: "no such file" }];
  const text = await (await ask(run, "/v1/responses", { tools: [{ name: "exec_command" }], input })).text();
  expect(text).toContain("event: response.created");
  expect(text).toContain('\\"cmd\\":\\"cat missing.txt\\"');
  expect(text).toContain("event: response.completed");
  expect(run.requests).toMatchObject([{ results: 1 }]);
});

it("answers a Gemini request in chunks", async () => {
  const run = await beginRun("loop");
  const contents = [{ role: "user", parts: [{ text: "go" }, { functionResponse: { response: {} } }] }];
  const tools = [{ functionDeclarations: [{ name: "run_shell_command" }] }];
  const text = await (await ask(run, "/v1beta/models/g:streamGenerateContent?alt=sse", { contents, tools })).text();
  expect(text).toContain('"functionCall":{"name":"run_shell_command"');
  expect(text).toContain('"finishReason":"STOP"');
  expect(run.requests).toMatchObject([{ results: 1 }]);
});

it("stops looping when a nudge is in the conversation, wherever the program put it", async () => {
  const run = await beginRun("nudge");
  expect(await (await ask(run, "/v1/messages", claude(message("go"), result))).text()).toContain("cat missing.txt");
  const words = "FACT: The same call failed 5 times. Nothing new has come of it.";
  const nudged = await ask(run, "/v1/messages", claude(message("go"), result, { role: "system", content: words }));
  expect(await nudged.text()).toContain("going round in circles");
  expect(run.requests.map((request) => request.nudged)).toEqual([false, true]);
});

it("refuses at a usage limit with the reset where each program looks for it", async () => {
  const run = await beginRun("limit");
  const refused = await ask(run, "/v1/messages", claude(message("go"), result));
  expect(refused.status).toBe(429);
  const reset = Number(refused.headers.get("anthropic-ratelimit-unified-reset"));
  expect(reset).toBeGreaterThan(Date.now() / 1000);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  const input = [message("go"), { type: "function_call_output", call_id: "c", output: "" }];
  const codex = await ask(run, "/v1/responses", { tools: [{ name: "exec_command" }], input });
  expect(await codex.json()).toMatchObject({
    error: { type: "usage_limit_reached", resets_in_seconds: expect.any(Number) },
  });
  expect(run.refusedAt).not.toBeNull();
});

it("does not count a side request without tools, such as one for a title", async () => {
  const run = await beginRun("loop");
  const title = await ask(run, "/v1/messages", { stream: false, messages: [message("go")] });
  expect(await title.json()).toMatchObject({ content: [{ type: "text" }] });
  expect(run.requests).toEqual([]);
});

it("hangs without a byte until the program gives up", async () => {
  const run = await beginRun("hang");
  const gaveUp = AbortSignal.timeout(300);
  const body = JSON.stringify(claude(message("go"), result));
  await expect(fetch(`${run.url}/v1/messages`, { method: "POST", body, signal: gaveUp })).rejects.toThrow();
  expect(run.requests).toMatchObject([{ said: "hang", answeredAt: null }]);
});

it("knows nobody who did not begin", async () => {
  const run = await beginRun("loop");
  expect((await fetch(run.url.replace("/r1", "/r9/v1/messages"), { method: "POST", body: "{}" })).status).toBe(404);
});
