import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openHolders } from "../../packages/daemon/src/adapters/holders-unix/open-holders.ts";
import type { Holders } from "../../packages/daemon/src/ports/holders.ts";
import { type Line, line, percentile } from "../report.ts";
import { makeDataFolder, removeDataFolder } from "../start-servers.ts";
import type { BenchOptions } from "../throughput.ts";
import { startAgent } from "./start-agents.ts";

const trials = 20;
const longestWait = 10_000;
const text = "The last 5 calls were identical and failed with the same error. Report what blocks you.";
const settings = { patterns: [], completionMarker: "" };

/** Notes when it read what, by the clock that all processes share. */
const notes = `const fs = require("node:fs");
const note = (what) => fs.appendFileSync(__dirname + "/notes", (performance.timeOrigin + performance.now()) + " " + what + "\\n");`;

/** An input like Claude Code's, in raw mode. */
const boxed = `#!${process.execPath}
${notes}
let typed = "";
const rule = "─".repeat(40);
const draw = (up) => process.stdout.write(up + "\\r\\x1b[J" + [rule, "❯ " + typed, rule, "  ? for shortcuts"].join("\\r\\n"));
process.stdin.setRawMode(true);
process.stdin.on("data", (bytes) => {
  if (bytes.includes(13)) { note("read"); typed = ""; } else typed += bytes;
  draw("\\x1b[" + (3 + Math.floor((typed.length + 2) / 80)) + "A");
});
draw("");
note("ready");
`;

/** Lines of JSON. */
const structured = `#!${process.execPath}
${notes}
require("node:readline").createInterface({ input: process.stdin }).on("line", () => note("read"));
note("ready");
`;

/** How long a nudge takes from the decision until the agent has read it. */
export async function benchNudges({ say }: BenchOptions): Promise<Line[]> {
  const home = makeDataFolder();
  const holders = openHolders({ folder: home, token: "", url: () => null }, { info() {}, warn() {}, error() {} });
  try {
    await holders.begin(
      {
        standing: () => null,
        held: async () => ({ lastReport: 0, settings }),
        reported: async () => {},
        lost: async () => {},
        nobodyLeft: async () => {},
        registered: () => null,
        endsLeftovers: async () => {},
      },
      1,
      "bench",
    );
    const flags = ["-p", "--output-format", "stream-json", "--input-format", "stream-json"];
    const typed = await nudge(holders, home, "typed", boxed, []);
    say(`typed: ${describe(typed)}`);
    const written = await nudge(holders, home, "written", structured, flags);
    say(`written: ${describe(written)}`);
    return [...linesOf("typed", typed), ...linesOf("as a line of JSON", written)];
  } finally {
    await holders.close();
    removeDataFolder(home);
  }
}

async function nudge(holders: Holders, home: string, agentId: string, script: string, flags: readonly string[]) {
  const folder = join(home, "programs", agentId);
  mkdirSync(folder, { recursive: true });
  const program = join(folder, "claude");
  writeFileSync(program, script);
  chmodSync(program, 0o755);
  await startAgent(home, agentId, [program, ...flags]);
  await noted(folder, 1);
  const took: number[] = [];
  for (let n = 1; n <= trials; n++) {
    const notAfter = Date.now() + longestWait;
    const begun = performance.timeOrigin + performance.now();
    const given = await holders.nudge({ key: `${agentId}/${n}`, agentId, incarnation: 1, text, notAfter });
    if (given.kind !== "sent") throw new Error(`${agentId}, trial ${n}: not sent, ${given.because}`);
    took.push((await noted(folder, n + 1)) - begun);
    // Until it has drawn its empty line again.
    await sleep(100);
  }
  return took;
}

/** When it noted what it noted last, once there are that many. */
async function noted(folder: string, count: number): Promise<number> {
  const file = join(folder, "notes");
  const giveUpAt = performance.now() + longestWait;
  for (;;) {
    const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
    if (lines.length >= count) return Number.parseFloat(lines[count - 1] ?? "");
    if (performance.now() > giveUpAt) throw new Error(`the agent noted ${lines.length} things, not ${count}`);
    await sleep(2);
  }
}

const linesOf = (how: string, took: readonly number[]): Line[] => [
  line(`a nudge, ${how}, read by the agent after, p50 of ${trials}`, "ms", percentile(took, 0.5)),
  line(`a nudge, ${how}, read by the agent after, p99`, "ms", percentile(took, 0.99), {
    aim: { of: "ours", atMost: 500 },
  }),
];

const describe = (took: readonly number[]): string =>
  `p50 ${percentile(took, 0.5).toFixed(1)} ms, p99 ${percentile(took, 0.99).toFixed(1)} ms`;
