import { writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { BreakerNews } from "@rouse/contract";
import { BreakerOpenError, createBreaker } from "@rouse/sdk";

/**
 * One small agent of `rouse demo`. It works through its steps, saves a checkpoint after each, beats by a timer, and
 * fails as its role says. It speaks to Rouse as any agent in any language could: over plain HTTP, with the environment
 * it was started with.
 */
const [role = "worker"] = process.argv.slice(2);
const {
  ROUSE_URL: url = "",
  ROUSE_TOKEN: token = "",
  ROUSE_AGENT_ID: agentId = "",
  ROUSE_TASK_ID: taskId = "",
} = process.env;
const recovery = JSON.parse(process.env["ROUSE_RECOVERY"] ?? "null") as {
  step: number | null;
  stepName: string | null;
} | null;

const steps = ["read the code", "write a failing test", "make it pass", "tidy up", "run everything", "write it down"];
const stepTakes = 1200;
/** The policy expects a beat every second; on a busy machine a timer is late, so it beats more often. */
const beatEvery = 800;
/** Long enough for several beats during one tool, which show that a timer sends them. */
const toolTakes = 6000;
/** A minute in earnest: so long the model is left alone after three failures. */
const leftAloneFor = 2500;

interface Ack {
  readonly commands: readonly { readonly id: string; readonly kind: string; readonly message?: string }[];
}

let step = recovery?.step ?? 0;
let nudged = false;
let seen: string[] = [];
let news: BreakerNews[] = [];
let open: { kind: "tool"; name: string; timeoutSeconds: number } | null = null;

async function post<T>(path: string, body: unknown): Promise<T | null> {
  try {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const answer = await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    return answer.ok ? ((await answer.json()) as T) : null;
  } catch {
    return null; // nobody listens: an agent works on without its monitor
  }
}

async function beat(): Promise<void> {
  const progressIndicator = `step ${step} of ${steps.length}`;
  const said = { agentId, taskId, status: "RUNNING", progressIndicator, open, seen, breakers: news };
  news = [];
  const ack = await post<Ack>("/api/v1/heartbeats", said);
  seen = [];
  for (const { id, kind, message } of ack?.commands ?? []) {
    if (kind !== "nudge") continue;
    console.log(`told: ${message?.split("\n")[0]}`);
    seen.push(id);
    nudged = true;
  }
}

function keepBeating(): void {
  void beat();
  setInterval(() => void beat(), beatEvery);
}

/** Repeats the same call with the same result until a nudge comes. */
async function loop(): Promise<void> {
  for (let i = 0; !nudged; i++) {
    console.log("$ npm test\n1 failing");
    await tellCall(`call-${i}`, "npm test", "1 failing");
    await pause(500);
  }
  for (const args of ["git diff", "cat test/parser.test.js", "sed -i s/two/2/ parser.js"]) {
    console.log(`$ ${args}`);
    await tellCall(args, args, `done: ${args}`);
    await pause(600);
  }
}

async function tellCall(id: string, args: string, text: string): Promise<void> {
  const call = { id, tool: "bash", args };
  await post(`/api/v1/agents/${agentId}/steps`, [
    { kind: "tool_call", ...call },
    { kind: "tool_result", ...call, text, failed: false },
  ]);
}

const breaker = createBreaker({
  name: "external_api/model",
  recoveryTimeout: leftAloneFor,
  onChange({ name: operation, to: state }) {
    news.push({ operation, state, ...(state === "OPEN" ? { failures: 3, retryInSeconds: leftAloneFor / 1000 } : {}) });
    tellChange();
  },
});
let telling: Promise<void> = Promise.resolve();

/** Each change in a beat of its own, one after the other. */
function tellChange(): void {
  telling = telling.then(beat);
}

let asked = 0;

/** A model that is overloaded when it is asked first. */
async function askModel(): Promise<string> {
  asked += 1;
  await pause(300);
  if (asked <= 3) throw new Error("503 overloaded");
  return "the answer";
}

/** Asks again and again, and lets its breaker say when there is no sense in that. */
async function askUntilAnswered(): Promise<void> {
  for (;;) {
    try {
      console.log(`the model: ${await breaker.run(askModel)}`);
      return;
    } catch (error) {
      console.log(error instanceof BreakerOpenError ? `not asked: ${error.message}` : `the model: ${String(error)}`);
    }
    await pause(400);
  }
}

async function failAsGiven(): Promise<void> {
  if (recovery !== null) return;
  if (role === "looper" && step === 2) return loop();
  if (role === "caller" && step === 1) return askUntilAnswered();
  if (role === "crasher" && step === 2) {
    console.log("Segmentation fault (as good as)");
    process.exit(139);
  }
  if (role === "hanger" && step === 3) {
    writeFileSync("draft.txt", "half an idea, not committed\n");
    console.log("$ npm run migrate");
    open = { kind: "tool", name: "npm run migrate", timeoutSeconds: 600 };
    await pause(toolTakes);
    console.log("waiting for a lock that nobody will release");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); // nothing runs in this process any more, not even its timer
  }
}

if (recovery !== null) console.log(`back: going on after step ${step}${step === 0 ? "" : ` (${recovery.stepName})`}`);
keepBeating();
while (step < steps.length) {
  await failAsGiven();
  const name = steps[step] ?? "";
  console.log(`step ${step + 1}: ${name}`);
  await pause(stepTakes);
  step += 1;
  await post(`/api/v1/tasks/${taskId}/checkpoints`, { step, stepName: name, state: { done: steps.slice(0, step) } });
}
console.log("done");
process.exit(0);
