import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { environmentOf } from "./start-servers.ts";
import { type Cost, timeCommand } from "./time-command.ts";

/** Somebody else's program that starts processes in the background and lists them. */
export interface Neighbour {
  /** What its commands are called in the table. */
  readonly start: string;
  readonly list: string;
  startsOne(round: number, command: readonly string[]): Promise<Cost>;
  listsAll(): Promise<Cost>;
  /** With all that it started. */
  end(): Promise<void>;
}

/** With a server of its own, which is running already, as our daemon is. */
export function findTmux(home: string, say: (what: string) => void): Neighbour | null {
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
export async function findPm2(home: string, say: (what: string) => void): Promise<Neighbour | null> {
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
