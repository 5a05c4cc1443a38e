import { expect, it } from "vitest";
import { scriptedRouse } from "../agent/scripted-rouse.test-support.ts";
import { hearMessages } from "./claude-messages.ts";
import { openCalls } from "./open-calls.ts";

function listener() {
  const rouse = scriptedRouse();
  const { agent } = rouse.agent();
  return { rouse, agent, ...hearMessages(agent, openCalls(agent)) };
}

const answer = (id: string, tokens: number, more = {}) => ({
  type: "assistant",
  ...{ session_id: "s1", message: { id, usage: { input_tokens: tokens, output_tokens: 1, service_tier: "x" } } },
  ...more,
});
const result = (total: number) => ({ type: "result", modelUsage: { a: { inputTokens: total, costUSD: 9 } } });

it("tokens of an answer count once, however many blocks it has, and the total of the session makes up what was missed", async () => {
  const { rouse, hear, session } = listener();
  const counted = (tokens: number) => rouse.until(() => rouse.beats().at(-1)?.tokenCount === tokens);
  hear(answer("a", 99));
  hear(answer("a", 99));
  hear(answer("b", 49));
  hear(answer("c", 1000, { error: "rate_limit" }));
  await counted(150);
  hear(result(170));
  await counted(170);
  // The session was cleared: what is counted anew is added.
  hear(result(30));
  hear(result(40));
  await counted(180);
  expect(session()).toBe("s1");
});

it("a limit of the provider is told as a wait until it ends, and is over with the next answer", async () => {
  const { rouse, hear } = listener();
  const resetsAt = Math.round(Date.now() / 1000) + 600;
  hear({ type: "rate_limit_event", rate_limit_info: { status: "allowed_warning", resetsAt } });
  hear({ type: "system", subtype: "api_retry", error_status: 500, retry_delay_ms: 60_000 });
  await rouse.until(() => rouse.beats().length > 1);
  expect(rouse.beats().at(-1)?.status).toBe("RUNNING");
  hear({ type: "rate_limit_event", rate_limit_info: { status: "rejected", resetsAt } });
  const beat = await rouse.until(() => rouse.beats().find(({ status }) => status === "WAITING"));
  expect(beat.waitingFor).toBe("provider");
  expect(Math.abs(Date.parse(beat.waitingUntil ?? "") / 1000 - resetsAt)).toBeLessThan(2);
  hear(answer("a", 1));
  await rouse.until(() => rouse.beats().at(-1)?.status === "RUNNING");
  hear({ type: "system", subtype: "api_retry", error_status: 529, retry_delay_ms: 60_000 });
  await rouse.until(() => rouse.beats().at(-1)?.status === "WAITING");
});
