import { writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

/**
 * One small agent of `rouse demo`: works through its steps, saves a checkpoint after each, beats every second, and has the weakness it was given.
 * It speaks to Rouse as any agent in any language could: plain HTTP, and the environment it was started with.
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

interface Ack {
  readonly commands: readonly { readonly id: string; readonly kind: string; readonly message?: string }[];
}

let step = recovery?.step ?? 0;
let nudged = false;
let seen: string[] = [];
let hangs = false;

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
  const said = { agentId, taskId, status: "RUNNING", progressIndicator: `step ${step} of ${steps.length}`, seen };
  const ack = await post<Ack>("/api/v1/heartbeats", said);
  seen = [];
  for (const { id, kind, message } of ack?.commands ?? []) {
    if (kind !== "nudge") continue;
    console.log(`told: ${message?.split("\n")[0]}`);
    seen.push(id);
    nudged = true;
  }
}

async function keepBeating(): Promise<never> {
  for (;;) {
    if (!hangs) await beat();
    await pause(1000);
  }
}

/** The same call with the same result, until somebody says something. */
async function loop(): Promise<void> {
  for (let i = 0; !nudged; i++) {
    console.log("$ npm test\n1 failing");
    const call = { id: `call-${i}`, tool: "bash", args: "npm test" };
    await post(`/api/v1/agents/${agentId}/steps`, [
      { kind: "tool_call", ...call },
      { kind: "tool_result", ...call, text: "1 failing", failed: false },
    ]);
    await pause(500);
  }
  for (const args of ["git diff", "cat test/parser.test.js", "sed -i s/two/2/ parser.js"]) {
    console.log(`$ ${args}`);
    const call = { id: args, tool: "bash", args };
    await post(`/api/v1/agents/${agentId}/steps`, [
      { kind: "tool_call", ...call },
      { kind: "tool_result", ...call, text: `done: ${args}`, failed: false },
    ]);
    await pause(600);
  }
}

async function failAsGiven(): Promise<void> {
  if (recovery !== null) return;
  if (role === "looper" && step === 2) return loop();
  if (role === "crasher" && step === 2) {
    console.log("Segmentation fault (as good as)");
    process.exit(139);
  }
  if (role === "hanger" && step === 3) {
    writeFileSync("draft.txt", "half an idea, not committed\n");
    console.log("connecting to a server that never answers");
    hangs = true;
    await new Promise(() => setInterval(() => {}, 60_000));
  }
}

if (recovery !== null) console.log(`back: going on after step ${step}${step === 0 ? "" : ` (${recovery.stepName})`}`);
void keepBeating();
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
