import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const sqlite = createRequire(import.meta.url).resolve("@photostructure/sqlite");

/**
 * What opencode does that a holder looks at: keeps a log of its conversation in a database, and shows its input. What
 * is typed there waits until a file `go` is in its working folder, though it is shown as said at once.
 */
const program = `
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
const { DatabaseSync } = createRequire(import.meta.url)(${JSON.stringify(sqlite)});
const folder = join(process.env.HOME, ".local/share/opencode");
mkdirSync(folder, { recursive: true });
const db = new DatabaseSync(join(folder, "opencode.db"));
db.exec("PRAGMA journal_mode = WAL");
db.exec(\`
  CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text NOT NULL, time_updated integer NOT NULL);
  CREATE TABLE event (id text PRIMARY KEY, aggregate_id text NOT NULL, seq integer NOT NULL, type text NOT NULL, data text NOT NULL);\`);
let session = "";
let seq = 0;
const keep = (type, data) => db.prepare("INSERT INTO event VALUES (?, ?, ?, ?, ?)").run(session + seq, session, seq++, type + ".1", JSON.stringify({ sessionID: session, ...data }));
function begin(id) {
  session = id;
  db.prepare("INSERT INTO session VALUES (?, NULL, ?, ?)").run(id, process.cwd(), Date.now());
  keep("session.created", { info: { id, version: "0", time: { created: Date.now() } } });
}
const message = (info) => keep("message.updated", { info: { time: { created: Date.now() }, ...info } });
const part = (fields) => keep("message.part.updated", { part: fields, time: Date.now() });
function call(n, answer) {
  const tool = { type: "tool", callID: session + "_call_" + n, tool: "bash", messageID: answer };
  const input = { command: "cat missing.txt" };
  part({ ...tool, state: { status: "running", input } });
  part({ ...tool, state: { status: "completed", input, output: "No such file", metadata: { exit: 1 } } });
}
let said = "";
let typed = "";
const draw = () => process.stdout.write("\\x1b[?1049h\\x1b[2J\\x1b[H  ┃  " + said + "\\r\\n\\r\\n  ┃\\r\\n  ┃  " + typed + "\\x1b7\\r\\n  ┃\\r\\n  ┃  Build · Some Model\\r\\n  ╹▀▀▀▀▀▀▀▀\\r\\n\\x1b8");
begin("ses_first");
message({ id: "msg_u1", role: "user" });
message({ id: "msg_a1", role: "assistant", parentID: "msg_u1" });
for (let n = 1; n <= 3; n++) call(n, "msg_a1");
draw();
process.stdin.setRawMode(true);
process.stdin.on("data", (bytes) => {
  const text = bytes.toString();
  if (text === "\\r") {
    message({ id: "msg_u2", role: "user" });
    part({ type: "text", messageID: "msg_u2", text: typed });
    said = typed;
    typed = "";
  } else typed += text;
  draw();
});
let answered = false;
setInterval(() => {
  if (answered || said === "" || !existsSync("go")) return;
  answered = true;
  message({ id: "msg_a2", role: "assistant", parentID: "msg_u2" });
}, 20);
let asked = 0;
let asking = false;
setInterval(() => {
  if (asking === existsSync("ask")) return;
  asking = !asking;
  if (asking) asked++;
  const tool = { type: "tool", callID: "asked_" + asked, tool: "bash", messageID: "msg_a1" };
  if (asking) part({ ...tool, state: { status: "running", input: {} } });
  else part({ ...tool, state: { status: "completed", input: {}, output: "", metadata: { exit: 0 } } });
  if (asking) process.stdout.write("\\x1b[2J\\x1b[H  ┃  △ Permission required\\r\\n  ┃   Allow once   Allow always   Reject\\r\\n");
  else draw();
}, 20);
let calls = 3;
setInterval(() => {
  if (!existsSync("call")) return;
  rmSync("call");
  const latest = session;
  session = "ses_first";
  call(++calls, "msg_a1");
  session = latest;
}, 20);
let next = false;
setInterval(() => {
  const how = ["next", "next-by-tool", "next-beside"].find((name) => existsSync(name));
  if (next || how === undefined) return;
  next = true;
  if (how === "next-by-tool") part({ type: "tool", callID: "open", tool: "bash", messageID: "msg_a1", state: { status: "running", input: {} } });
  if (how === "next-beside") spawn("sh", ["-c", 'bash -c "exec -a opencode $0 -e setInterval\\\\(Date,1e3\\\\)"; true', process.execPath], { stdio: "ignore" });
  begin("ses_second");
  message({ id: "msg_b1", role: "assistant", parentID: "msg_u3" });
  call(1, "msg_b1");
}, 20);
`;

/**
 * A program of that name below a folder. \`next\` in its working folder makes it begin another conversation; with
 * \`next-by-tool\` and \`next-beside\` another one does that, which it runs as a tool or left running. It asks for
 * permission as long as there is \`ask\`, and makes one more call in its first conversation for \`call\`.
 */
export function makeOpencode(folder: string): string {
  const file = join(folder, "bin/opencode");
  mkdirSync(join(folder, "bin"), { recursive: true });
  writeFileSync(join(folder, "bin/package.json"), '{"type":"module"}');
  writeFileSync(file, program);
  chmodSync(file, 0o755);
  return file;
}
