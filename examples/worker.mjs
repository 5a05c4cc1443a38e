// A worker in JavaScript that reports to Rouse. Needs nothing but Node: node examples/worker.mjs
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { setTimeout as pause } from "node:timers/promises";

const home = process.env.ROUSE_HOME || `${homedir()}/.rouse`;
const url = process.env.ROUSE_URL || JSON.parse(readFileSync(`${home}/daemon.json`, "utf8")).url;
const token = process.env.ROUSE_TOKEN || readFileSync(`${home}/token`, "utf8").trim();

/** Tells what was done. Of arguments and results only digests are kept; this is worth a try, not a wait. */
async function tellStep(tool, args, text) {
  const body = JSON.stringify([
    { kind: "tool_call", tool, args },
    { kind: "tool_result", tool, text, failed: false },
  ]);
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  await fetch(`${url}/api/v1/agents/example-js/steps`, { method: "POST", headers, body }).catch(() => {});
}

/** Repeats what it says until it is answered. */
async function say(path, more) {
  const body = JSON.stringify({ agentId: "example-js", taskId: "count-to-five", ...more });
  for (let wait = 200; ; wait = Math.min(2 * wait, 5000)) {
    try {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const answer = await fetch(`${url}/api/v1/${path}`, { method: "POST", headers, body });
      if (answer.status !== 503) return await answer.json();
    } catch {
      // Rouse is not there right now. That is no reason to stop working.
    }
    await pause(wait);
  }
}

/** With its number, a beat that arrived twice still counts once. */
const beat = (sequenceNumber, more) => say("heartbeats", { sequenceNumber, ...more });

await say("agents"); // a new life: its beats are numbered from the start again
for (let step = 1; step <= 5; step++) {
  await pause(200); // the work itself
  await tellStep("count", `to ${step}`, `counted to ${step}`);
  const ack = await beat(step, { status: "RUNNING", progressIndicator: `step ${step} of 5`, toolCallCount: step });
  console.log(`beat ${step}: ${ack.status}`);
  for (const command of ack.commands) console.log(`Rouse asks: ${command.kind}, ${command.because}`);
}
await beat(6, { status: "FINISHED" });
