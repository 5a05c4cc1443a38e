import { type Line, line, median, percentile } from "../report.ts";
import { type BenchOptions, withDaemon } from "../throughput.ts";
import { type Between, runInTerminal } from "./outer-terminal.ts";

const rounds = 3;
const keys = 500;
const warmUpKeys = 50;
const longestEcho = 10_000;
const ready = "ready";

/** An agent that shows each key as soon as it is pressed, and ends with `q`. */
const echo = `process.stdin.setRawMode(true);
process.stdin.on("data", (bytes) => bytes.includes(113) ? process.exit() : process.stdout.write(bytes));
process.stdout.write("${ready}");`;

/** How long a key takes to the agent and back onto the screen. */
export async function benchTyping({ say }: BenchOptions): Promise<Line[]> {
  return withDaemon(async (_, home) => {
    const took: Record<Between, { p50: number; p99: number }[]> = { ours: [], bare: [] };
    for (let round = 1; round <= rounds; round++) {
      for (const between of ["ours", "bare"] as const) {
        const times = await typeKeys(between, home);
        const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
        say(`typing, round ${round} of ${rounds}, ${between}: p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`);
        took[between].push({ p50, p99 });
      }
    }
    const { ours, bare } = took;
    const middle = (share: "p50" | "p99"): Line =>
      line(`a key and its echo, ${share}`, "ms", median(ours.map((one) => one[share])), {
        peer: median(bare.map((one) => one[share])),
        ratio: median(ours.map((one, i) => one[share] / (bare[i] ?? one)[share])),
      });
    const added = median(ours.map(({ p99 }, i) => p99 - (bare[i]?.p99 ?? 0)));
    return [
      middle("p50"),
      middle("p99"),
      line("a key and its echo, added to p99", "ms", added, { aim: { of: "ours", atMost: 10 } }),
    ];
  });
}

async function typeKeys(between: Between, home: string): Promise<number[]> {
  let came = "";
  let noticed = (): void => {};
  const pty = runInTerminal(between, home, [process.execPath, "-e", echo], (bytes) => {
    came += bytes.toString("latin1");
    noticed();
  });
  const until = (wanted: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const problem = () => reject(new Error(`${between}: ${wanted} was awaited, ${JSON.stringify(came)} came`));
      const patience = setTimeout(problem, longestEcho);
      noticed = () => {
        if (came.length < wanted.length) return;
        clearTimeout(patience);
        if (came !== wanted) return problem();
        came = "";
        resolve();
      };
      noticed();
    });
  try {
    await until(ready);
    const times: number[] = [];
    for (let n = 0; n < warmUpKeys + keys; n++) {
      const key = "abcdefghij"[n % 10] as string;
      const begun = performance.now();
      pty.write(Buffer.from(key));
      await until(key);
      if (n >= warmUpKeys) times.push(performance.now() - begun);
    }
    return times;
  } finally {
    pty.write(Buffer.from("q"));
    const patience = setTimeout(() => pty.kill("SIGKILL"), longestEcho);
    await pty.ended;
    clearTimeout(patience);
  }
}
