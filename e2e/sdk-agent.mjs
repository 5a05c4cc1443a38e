// An agent that uses the SDK as its author would: node sdk-agent.mjs MODE LOG. What it notices goes to LOG, line by line.
import { spawn } from "node:child_process";
import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { rouse } from "@rouse/sdk/agent";

const [mode, log, ...rest] = process.argv.slice(2);
const note = (line) => appendFileSync(log, `${line}\n`);
const until = async (look) => {
  while (!look()) await pause(20);
};
const id = process.env.AGENT_NAME;
const agent = rouse.agent({
  ...(id === undefined ? {} : { id }),
  task: rest[0],
  beatEveryMs: 200,
  onWarning: (text) => note(`warning ${text}`),
  breakers: { checkpoint_write: { recoveryTimeout: 500 }, ...JSON.parse(process.env.BREAKERS ?? "{}") },
});
const stay = () => setInterval(() => undefined, 1000);
note(`began ${process.pid}`);

const modes = {
  /** Beats until it is ended. */
  stay() {
    stay();
    agent.onNudge(({ message }) => {
      note(`nudged ${message}`);
      return "on it";
    });
  },
  /** The same, and says when it is replaced. */
  replaced() {
    stay();
    agent.onStop(({ because }) => note(`stop ${because}`));
    agent.signal.addEventListener("abort", () => note(`connection ${agent.connection().state}`));
  },
  /** Starts a program that inherits its name, and uses the SDK as well. */
  parent() {
    stay();
    spawn(process.execPath, [process.argv[1], "stay", `${log}.child`], { stdio: "ignore" });
  },
  /** Told to stop, it saves what it has first. */
  stop() {
    stay();
    agent.onStop(async ({ because }) => {
      await agent.checkpoint(1, { because }, "on the way out");
      note(`saved on ${because}`);
    });
    note("ready");
  },
  /** Has nothing to do as soon as its file is there. */
  async leave() {
    await until(() => existsSync(`${log}.1`));
    note("leaves");
  },
  /** Waits for a checkpoint, and for nothing else. */
  async save() {
    note((await agent.checkpoint(1, {})).state);
  },
  /** Tells a step whenever its file says so. */
  async steps() {
    for (let n = 1; ; n++) {
      await until(() => existsSync(`${log}.${n}`));
      await agent.tool("count", { n }, () => `counted ${n}`);
      note(`counted ${n}`);
    }
  },
  /** Once it knows the owner's rules (two failures are enough), it says how many calls of a broken tool it takes. */
  async trips() {
    stay();
    for (let n = 1, known = false; !known; n++) {
      const probe = agent.breaker(`external_api/probe-${n}`);
      for (let times = 0; times < 2; times++) await probe.run(() => Promise.reject(new Error("no"))).catch(() => null);
      known = probe.state() === "OPEN";
      if (!known) await pause(20);
    }
    let calls = 0;
    const broken = () => Promise.reject(new Error(`broken ${++calls}`));
    while (agent.breaker("tool_execution").state() === "CLOSED")
      await agent.tool("broken", {}, broken).catch(() => null);
    note(`tripped after ${calls}`);
  },
  /** Three steps; each waits for its file. */
  async work() {
    const step = (name) => ({
      name,
      async run(done, { number, key, again }) {
        note(`${name} begins ${key} ${again}`);
        await until(() => existsSync(`${log}.${number}`));
        note(`${name} ends`);
        return [...done, name];
      },
    });
    const done = await agent.steps(["plan", "write", "check"].map(step), []);
    note(`done ${done} ${JSON.stringify(agent.recovered?.step ?? null)}`);
    await agent.finish();
  },
};
await modes[mode]();
