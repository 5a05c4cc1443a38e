import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Line, line, percentile } from "./report.ts";
import { runRouse } from "./start-servers.ts";
import { type BenchOptions, withDaemon } from "./throughput.ts";

const trials = 30;
const longestWait = 90_000;

/**
 * Saves a state of its own making and says its hash; in its next life it says the hash of the state it was given. A
 * quarter of the states are larger than what is kept in a row.
 */
const mortal = `
const { createHash, randomBytes } = require("node:crypto");
const { readFileSync, writeFileSync, renameSync } = require("node:fs");
const { ROUSE_URL, ROUSE_TOKEN, ROUSE_TASK_ID, ROUSE_RECOVERY } = process.env;
const [folder, size] = process.argv.slice(1);
const tell = (file, text) => { writeFileSync(folder + "/" + file + ".new", text); renameSync(folder + "/" + file + ".new", folder + "/" + file); };
const hash = (text) => createHash("sha256").update(text).digest("hex");
async function main() {
  if (ROUSE_RECOVERY !== undefined) {
    const { step, stateFile } = JSON.parse(ROUSE_RECOVERY);
    tell("after", step + " " + hash(readFileSync(stateFile)));
  } else {
    const state = { work: randomBytes(Number(size)).toString("hex") };
    const answer = await fetch(ROUSE_URL + "/api/v1/tasks/" + ROUSE_TASK_ID + "/checkpoints", {
      method: "POST", headers: { authorization: "Bearer " + ROUSE_TOKEN, "content-type": "application/json" },
      body: JSON.stringify({ step: 7, stepName: "seven", state }),
    });
    if (!answer.ok) throw new Error(await answer.text());
    tell("before", process.pid + " 7 " + hash(JSON.stringify(state)));
  }
  setInterval(() => {}, 1000);
}
main();
`;

/** From the death of an agent to its replacement having read the state it goes on with. */
export async function benchRecovery({ say }: BenchOptions): Promise<Line[]> {
  return withDaemon(async (_, home) => {
    const seconds: number[] = [];
    for (let n = 1; n <= trials; n++) {
      const name = `mortal-${n}`;
      const folder = join(home, name);
      mkdirSync(folder);
      const size = n % 4 === 0 ? "100000" : "1000";
      const command = [process.execPath, "-e", mortal, folder, size];
      await runRouse(home, ["spawn", "--json", "--name", name, "--task", `task-${n}`, "--", ...command]);
      const [pid = "", ...before] = (await untilTold(join(folder, "before"))).split(" ");
      const killedAt = performance.now();
      process.kill(Number(pid), "SIGKILL");
      const after = await untilTold(join(folder, "after"));
      seconds.push((performance.now() - killedAt) / 1000);
      if (after !== before.join(" "))
        throw new Error(`${name} went on with ${after}, but had saved ${before.join(" ")}`);
      await runRouse(home, ["terminate", name]);
      if (n % 10 === 0) say(`${n} of ${trials}: slowest so far ${Math.max(...seconds).toFixed(2)} s`);
    }
    const mean = seconds.reduce((sum, one) => sum + one, 0) / trials;
    return [
      line(`killed agent goes on with the very state it saved, mean of ${trials}`, "s", mean, aim(3)),
      line("the same, p50", "s", percentile(seconds, 0.5)),
      line("the same, slowest", "s", percentile(seconds, 1), aim(60)),
    ];
  });
}

async function untilTold(file: string): Promise<string> {
  const giveUpAt = performance.now() + longestWait;
  while (!existsSync(file)) {
    if (performance.now() > giveUpAt) throw new Error(`nothing was said in ${file}`);
    await pause(10);
  }
  return readFileSync(file, "utf8");
}

const aim = (atMost: number) => ({ aim: { of: "ours", atMost } }) as const;
