// One agent of healthy-and-quiet.test.ts: `node quiet-agent.mjs ROLE`, in a folder of its own. Each lives as its role says until somebody ends it.
import { spawn } from "node:child_process";
import { appendFileSync, createWriteStream, existsSync } from "node:fs";
import { get } from "node:http";

const [role] = process.argv.slice(2);
const { ROUSE_URL, ROUSE_TOKEN, ROUSE_AGENT_ID: agentId, ROUSE_INCARNATION, SERVER } = process.env;
const isFirstLife = ROUSE_INCARNATION === "1";

async function beat(said) {
  const headers = { authorization: `Bearer ${ROUSE_TOKEN}`, "content-type": "application/json" };
  const body = JSON.stringify({ agentId, status: "RUNNING", ...said });
  await fetch(`${ROUSE_URL}/api/v1/heartbeats`, { method: "POST", headers, body }).catch(() => undefined);
}

function repeat(every, act) {
  void act();
  setInterval(() => void act(), every);
}

const stream = (line) => console.log(JSON.stringify({ session_id: `s-${agentId}`, ...line }));
const call = (id, input) =>
  stream({ type: "assistant", message: { id: `m-${id}`, content: [{ type: "tool_use", id, name: "Bash", input }] } });
const began = () =>
  stream({ type: "system", subtype: "init", model: "claude-x", tools: [], claude_code_version: "2.1.0" });
/** What every sick one does in its next life. */
const finish = () => stream({ type: "result", subtype: "success", is_error: false, result: "done" });

/** So much time of a processor, however long that takes. */
function burn(ms) {
  const from = process.cpuUsage();
  for (let spent = 0; spent < ms * 1000; ) {
    const { user, system } = process.cpuUsage(from);
    spent = user + system;
  }
}

const roles = {
  download: () => get(`${SERVER}/slowly`, (answer) => answer.pipe(createWriteStream("download"))),
  request: () => get(`${SERVER}/never`),
  spinner: () => {
    let frame = 0;
    setInterval(() => process.stdout.write(`\r${"|/-\\"[frame++ % 4]} thinking`), 100);
  },
  job: () => repeat(1000, () => burn(140)),
  editor: () => repeat(5000, () => appendFileSync("notes.txt", "one more thought\n")),
  beater: () => repeat(2500, () => beat({})),
  poller: () => {
    void beat({ toolCallCount: 3, tokenCount: 1200, progressIndicator: "1 of 9" });
    repeat(3000, () => console.log("still pending"));
  },
  /** Shows that a timer sends its beats, gets nowhere, and falls silent when the test says so. */
  worse: () => {
    if (!isFirstLife) return;
    const bornAt = Date.now();
    const open = { kind: "tool", name: "migrate", timeoutSeconds: 60 };
    repeat(2500, () => existsSync("../worse-is-silent") || beat({ open: Date.now() - bornAt < 14_000 ? open : null }));
  },
  "open-tool": () => {
    began();
    call("t-1", { command: "terraform apply" });
    spawn("sleep", ["3000"], { stdio: "ignore" });
  },
  /** The prompt of Claude Code with a line in it that its person has not sent. Whatever is typed is noted. */
  draft: () => {
    const line = "─".repeat(60);
    process.stdout.write(
      `● All tests pass.\r\n\r\n${line}\r\n❯ and please also look at the\r\n${line}\r\n  ? for shortcuts\x1b[2A\x1b[18C`,
    );
    process.stdin.setRawMode(true).on("data", (typed) => appendFileSync("typed", typed));
  },
  hang: () => {
    began();
    if (isFirstLife) get(`${SERVER}/never`);
    else finish();
  },
  loop: () => {
    began();
    if (!isFirstLife) return finish();
    let n = 0;
    repeat(500, () => {
      const id = `t-${++n}`;
      call(id, { command: "npm test" });
      const content = [{ type: "tool_result", tool_use_id: id, is_error: true, content: "1 failing" }];
      stream({ type: "user", message: { content } });
    });
  },
};

roles[role]();
