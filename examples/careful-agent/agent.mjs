// A small agent that can be killed at any moment: it reads files, has a model write a note about each, pins the notes to
// a board and writes a report. However often it is killed, each note is there once.
//
//   node examples/careful-agent/model.mjs                                       (in one terminal: prints MODEL_URL)
//   MODEL_URL=… rouse spawn --name careful --task notes --restart on-failure -- \
//     node examples/careful-agent/agent.mjs examples/careful-agent/texts report.jsonl
import { appendFile, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { RetryAfterError, readRetryAfter, retry } from "@rouse/sdk";
import { rouse } from "@rouse/sdk/agent";

const [folder, report] = process.argv.slice(2);
const model = process.env.MODEL_URL;
if (report === undefined || model === undefined) {
  console.error("usage: MODEL_URL=URL node examples/careful-agent/agent.mjs FOLDER REPORT (model.mjs prints the URL)");
  process.exit(2);
}

const agent = rouse.agent({
  id: "careful",
  task: "notes",
  beatEveryMs: 1000,
  breakers: { external_api: { recoveryTimeout: 1000 } },
});
agent.onNudge(({ message }) => `read: ${message.slice(0, 100)}`);

/** One request. A time-out or an error counts against the model; that it asks for patience does not. */
const askOnce = (text) =>
  agent.request(
    "model",
    async (signal) => {
      const timeout = AbortSignal.timeout(1000);
      const answer = await fetch(`${model}/ask`, {
        method: "POST",
        body: text,
        signal: AbortSignal.any([signal, timeout]),
      });
      if (answer.status === 429) throw new RetryAfterError(429, readRetryAfter(answer.headers.get("retry-after")));
      if (!answer.ok) throw new Error(`the model answered ${answer.status}`);
      return answer.text();
    },
    { timeoutMs: 1000, isFailure: ({ error }) => error !== undefined && !(error instanceof RetryAfterError) },
  );

/** Asks until there is an answer. While the breaker is open, or the model wants to be left alone, Rouse knows why it waits. */
const ask = (text) =>
  retry(() => askOnce(text), {
    attempts: 100,
    firstMs: 100,
    longestMs: 2000,
    signal: agent.signal,
    onRetry: ({ waitMs }) => agent.waiting("provider", Date.now() + waitMs),
  });

/** A line of the report, once: a life that died after writing it and before its checkpoint has written it already. */
async function writeOnce({ key, again }, line) {
  const before = again ? await readFile(report, "utf8").catch(() => "") : "";
  if (!before.includes(JSON.stringify(key))) await appendFile(report, `${JSON.stringify({ key, ...line })}\n`);
}

const readNote = (name) => ({
  name: `note on ${name}`,
  async run(notes, context) {
    const text = await agent.tool("read", { name }, () => readFile(join(folder, name), "utf8"));
    const note = await ask(text);
    agent.tokens(text.length + note.length);
    await writeOnce(context, { name, note });
    // The board knows a note by the key of its step: sent again, it is the same note.
    const pinned = await agent.fetch(`${model}/board`, {
      method: "POST",
      body: note,
      headers: { "idempotency-key": context.key },
    });
    if (!pinned.ok) throw new Error(`the board answered ${pinned.status}`);
    console.log(`step ${context.number} done: ${name}`);
    return { ...notes, [name]: note };
  },
});

const names = (await readdir(folder)).filter((name) => name.endsWith(".txt")).sort();
if (agent.recovered) console.log(`back after step ${agent.recovered.step}: ${agent.recovered.reason}`);
const notes = await agent.steps(names.map(readNote), {});
console.log(`${Object.keys(notes).length} notes`);
await agent.finish();
