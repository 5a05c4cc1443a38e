// node beat.mjs PLAN: beats once a second in a process of its own, and prints the milliseconds of processor time that took.
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const { what, url, token, warmupSeconds, seconds } = JSON.parse(process.argv[2]);
const agentId = `beating-${process.pid}`;
const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
const postTo = `${url}/api/v1/heartbeats`;

/** Each begins, and tells how many beats were answered; `null` where that is not counted. */
const kinds = {
  nothing: () => ({ heard: () => null, end: () => undefined }),

  async agent() {
    const { rouse } = await import("@rouse/sdk/agent");
    const agent = rouse.agent({ id: agentId, type: "bench", url, token, beatEveryMs: 1000, env: {} });
    const heard = () => {
      const { state, problem } = agent.connection();
      if (state !== "connected") throw new Error(`the agent is ${state}: ${problem}`);
      return null;
    };
    return { heard, end: agent.close };
  },

  fetch: () =>
    everySecond(async (body, hear) => {
      const response = await fetch(postTo, { method: "POST", headers, body });
      hear(response.status, JSON.parse(await response.text()));
    }),

  http() {
    const agent = new Agent({ keepAlive: true });
    const { hostname, port, pathname: path } = new URL(postTo);
    return everySecond((body, hear) => {
      const own = { ...headers, "content-length": Buffer.byteLength(body) };
      request({ hostname, port, path, method: "POST", agent, headers: own }, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (piece) => {
          text += piece;
        });
        response.on("end", () => hear(response.statusCode, JSON.parse(text)));
      }).end(body);
    });
  },
};

function everySecond(post) {
  let number = 0;
  let heard = 0;
  const timer = setInterval(() => {
    const beat = { agentId, sequenceNumber: ++number, timestamp: new Date().toISOString(), status: "RUNNING" };
    post(JSON.stringify(beat), (status) => {
      if (status === 200) heard += 1;
    });
  }, 1000);
  return { heard: () => heard, end: () => clearInterval(timer) };
}

const kind = await kinds[what]();
await sleep(warmupSeconds * 1000);
const [before, heardBefore] = [process.cpuUsage(), kind.heard()];
await sleep(seconds * 1000);
const { user, system } = process.cpuUsage(before);
const heard = kind.heard();
if (heard !== null && heard - heardBefore < seconds * 0.9)
  throw new Error(`only ${heard - heardBefore} beats were answered in ${seconds} s`);
process.stdout.write(String((user + system) / 1000));
await kind.end();
if (what === "http") process.exit();
