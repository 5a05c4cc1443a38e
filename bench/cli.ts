import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cpuSeconds, memoryOf } from "./measure-process.ts";
import { type Aim, type Line, line, median } from "./report.ts";
import { environmentOf, rouse, startNode } from "./start-servers.ts";
import { holderOf } from "./terminals/start-agents.ts";
import { type BenchOptions, withDaemon } from "./throughput.ts";
import { type Cost, timeCommand } from "./time-command.ts";

const rounds = 9;
const settledAfterMs = 5000;
const quiet = ["sleep", "1000000"];

/** One command of ours or of somebody else's, and what it cost each time. */
interface Measured {
  readonly name: string;
  run(round: number): Promise<Cost>;
  readonly costs: Cost[];
}

/**
 * How long a command takes, beside the start of Node itself and beside other programs that start and list processes.
 */
export async function benchCli({ say }: BenchOptions): Promise<Line[]> {
  return withDaemon(async (_, home) => {
    const world = { env: environmentOf(home), cwd: home };
    const ours = (...words: string[]) => timeCommand([process.execPath, rouse, ...words], world);
    const measured = (name: string, run: Measured["run"]): Measured => ({ name, run, costs: [] });
    const node = measured("node -e 0", () => timeCommand([process.execPath, "-e", "0"], world));
    const version = measured("rouse --version", () => ours("--version"));
    const help = measured("rouse --help", () => ours("--help"));
    const ps = measured("rouse ps", () => ours("ps"));
    const spawn = measured("rouse spawn until its agent runs", async (round) => {
      const name = `quiet-${round}`;
      const cost = await ours("spawn", "--name", name, "--", ...quiet);
      return { ...cost, cpu: cost.cpu + cpuSeconds(holderOf(home, name).holder.pid) * 1000 };
    });
    const [tmux, pm2] = [findTmux(home, say), await findPm2(home, say)];
    const others = [tmux, pm2].filter((one) => one !== null);
    try {
      const start = (one: Neighbour) => measured(one.start, (round) => one.startsOne(round, quiet));
      const list = (one: Neighbour) => measured(one.list, () => one.listsAll());
      const beside = others.flatMap((one) => [
        { ours: spawn, peer: start(one) },
        { ours: ps, peer: list(one) },
      ]);
      const all = [node, version, help, ps, spawn, ...beside.map(({ peer }) => peer)];
      for (let round = 0; round < rounds; round++) {
        for (const one of all) one.costs.push(await one.run(round));
        say(
          `round ${round + 1} of ${rounds}: ${all.map(({ name, costs }) => `${name} ${describe(costs[round])}`).join(", ")}`,
        );
      }
      return [
        ...compare(version, node, { cpu: { of: "ratio", atMost: 1.5 } }),
        ...compare(help, node),
        ...compare(ps, node, { cpu: { of: "ratio", atMost: 2.5 } }),
        ...compare(spawn, node, { wall: { of: "ours", atMost: 500 } }),
        ...beside.flatMap(({ ours: one, peer }) => compare(one, peer)),
        ...(await weigh(home)),
      ];
    } finally {
      for (const one of others) await one.end();
    }
  });
}

const describe = (cost: Cost | undefined): string => `${cost?.cpu.toFixed(0)} / ${cost?.wall.toFixed(0)} ms`;

function compare(ours: Measured, peer: Measured, aims: Partial<Record<keyof Cost, Aim>> = {}): Line[] {
  const one = (what: keyof Cost, unit: string): Line =>
    line(`${ours.name}, ${unit}, beside ${peer.name}`, "ms", median(ours.costs.map((cost) => cost[what])), {
      peer: median(peer.costs.map((cost) => cost[what])),
      ratio: median(ours.costs.map((cost, round) => cost[what] / (peer.costs[round]?.[what] ?? Number.NaN))),
      aim: aims[what] ?? null,
    });
  return [one("cpu", "CPU"), one("wall", "wall")];
}

/** A holder and a Node that only waits, at the same time: who else runs Node decides how many share its pages. */
async function weigh(home: string): Promise<Line[]> {
  const bare = startNode(["-e", "setInterval(() => {}, 1e9)"], process.env);
  try {
    await sleep(settledAfterMs);
    const held = Array.from({ length: rounds }, (_, round) => memoryOf(holderOf(home, `quiet-${round}`).holder.pid));
    const alone = memoryOf(bare.pid ?? 0);
    const memory = (measured: string, of: (one: typeof alone) => number, aim: Aim | null = null): Line =>
      line(`a holder, ${measured}, beside a Node that waits`, "MB", median(held.map(of)), {
        peer: of(alone),
        ratio: median(held.map(of)) / of(alone),
        aim,
      });
    return [
      memory("resident", ({ rss }) => rss, { of: "ours", atMost: 45 }),
      memory("share of shared pages (PSS)", ({ pss }) => pss),
      memory("its own", ({ own }) => own),
    ];
  } finally {
    bare.kill("SIGKILL");
  }
}

/** Somebody else's program that starts processes in the background and lists them. */
interface Neighbour {
  /** What its commands are called in the table. */
  readonly start: string;
  readonly list: string;
  startsOne(round: number, command: readonly string[]): Promise<Cost>;
  listsAll(): Promise<Cost>;
  /** With all that it started. */
  end(): Promise<void>;
}

/** With a server of its own, which is running already, as our daemon is. */
function findTmux(home: string, say: (what: string) => void): Neighbour | null {
  if (spawnSync("tmux", ["-V"]).status !== 0) {
    say("tmux is not installed: nothing to compare with");
    return null;
  }
  const world = { env: environmentOf(home), cwd: home };
  const own = ["-f", "/dev/null", "-S", join(home, "tmux.sock")];
  const tmux = ["tmux", ...own];
  spawnSync("tmux", [...own, "new-session", "-d", "sleep 1000000"], world);
  return {
    start: "tmux new -d",
    list: "tmux ls",
    startsOne: (_, command) => timeCommand([...tmux, "new-session", "-d", command.join(" ")], world),
    listsAll: () => timeCommand([...tmux, "list-sessions"], world),
    end: async () => void spawnSync("tmux", [...own, "kill-server"]),
  };
}

const pinned = "pm2@7.0.4";
const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "rouse-bench");

/** From npm, into a cache of its own; `null` when it cannot be had. */
async function findPm2(home: string, say: (what: string) => void): Promise<Neighbour | null> {
  const program = join(cache, "node_modules", "pm2", "bin", "pm2");
  if (!existsSync(program)) {
    say(`installing ${pinned} into ${cache}`);
    mkdirSync(cache, { recursive: true });
    const options = ["--prefix", cache, "--ignore-scripts", "--no-audit", "--no-fund"];
    const { status } = spawnSync("npm", ["install", ...options, pinned], { stdio: "ignore" });
    if (status !== 0 || !existsSync(program)) {
      say(`${pinned} cannot be had from npm: nothing to compare with`);
      return null;
    }
  }
  const world = { env: { ...environmentOf(home), PM2_HOME: join(home, "pm2"), CI: "1" }, cwd: home };
  const pm2 = [process.execPath, program];
  await timeCommand([...pm2, "ping"], world); // starts its daemon
  return {
    start: "pm2 start",
    list: "pm2 ls",
    startsOne: (round, [file = "", ...args]) =>
      timeCommand([...pm2, "start", file, "--interpreter", "none", "--name", `quiet-${round}`, "--", ...args], world),
    listsAll: () => timeCommand([...pm2, "ls"], world),
    end: async () => void (await timeCommand([...pm2, "kill"], world)),
  };
}
