// A model that plays its part from a script: it answers, asks for patience, fails and hangs, always in the same order.
// It also keeps the board that notes are pinned to. Started alone, it prints its address.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const usual = ["answer", "later", "answer", "fail", "answer", "hang", "answer", "answer", "fail", "fail", "fail"];

/** `wait(text)` may hold an answer back; `onPinned(key)` hears of each note. */
export async function startModel({ script = usual, port = 0, wait = async () => {}, onPinned = () => {} } = {}) {
  const board = new Map();
  const counts = { answer: 0, later: 0, fail: 0, hang: 0, pinned: 0 };
  let at = 0;

  async function answer(text, response) {
    const turn = script[at++ % script.length];
    if (turn === "later") return patience(response);
    counts[turn] += 1;
    if (turn === "fail") return response.writeHead(500).end();
    if (turn === "hang") return;
    await wait(text);
    response.end(`${text.split(/\s+/).filter(Boolean).length} words, beginning with ${text.split(/\s+/)[0]}`);
  }

  /** Now in seconds, now as a date: clients have to know both. */
  function patience(response) {
    const when = counts.later++ % 2 === 0 ? "1" : new Date(Date.now() + 1000).toUTCString();
    response.writeHead(429, { "retry-after": when }).end();
  }

  function pin(key, note, response) {
    counts.pinned += 1;
    if (counts.pinned % 5 === 0) return patience(response);
    const isNew = !board.has(key);
    if (isNew) board.set(key, []);
    if (isNew || board.get(key)[0] !== note) board.get(key).push(note);
    response.writeHead(isNew ? 201 : 200).end();
    onPinned(key);
  }

  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (part) => {
      text += part;
    });
    request.on("end", () => {
      if (request.url === "/board") pin(request.headers["idempotency-key"], text, response);
      else void answer(text, response);
    });
  });
  await new Promise((listening) => server.listen(port, "127.0.0.1", listening));
  const close = () => {
    server.closeAllConnections();
    return new Promise((closed) => server.close(closed));
  };
  return { url: `http://127.0.0.1:${server.address().port}`, board, counts, close };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { url } = await startModel({ port: Number(process.env.PORT ?? 0) });
  console.log(`MODEL_URL=${url}`);
}
