import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, readFileSync, readlinkSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { killHard, type Nursery, ofEach } from "./real-processes.test-support.ts";

/**
 * A program that is called codex, whose command is a script of the folder it is started in: `codex app-server …` and
 * `codex resume`.
 */
export interface SharedCodex {
  /**
   * Shell words that start its server, detached, and the one that keeps it up to date. They go on once all of them run.
   */
  readonly startServer: string;
  /** The server, its tool, one that a tool left behind, the one that keeps it up to date, and a child of that. */
  everybody(): number[];
  hasStarted(): boolean;
  /** A Codex of somebody else. */
  startClient(env: Readonly<Record<string, string>>): Promise<number>;
  /** Ends what was started here. */
  end(): void;
}

export const sharedCodexOfEach = (nursery: Nursery): SharedCodex =>
  ofEach(
    () => makeSharedCodex(nursery.folder, nursery.linger),
    (codex) => codex.end(),
  );

export function makeSharedCodex(folder: string, linger: string): SharedCodex {
  const codex = join(folder, "codex");
  copyFileSync(realpathSync("/bin/sh"), codex);
  mkdirSync(join(folder, "settings"), { recursive: true });
  const clients: number[] = [];
  const note = (pid: string) => `echo ${pid} >> ${folder}/codex-pids`;
  const tool = join(folder, "tool.sh");
  writeFileSync(tool, `setsid ${linger} &\n${note("$!")}\n`);
  writeFileSync(
    join(folder, "app-server"),
    `${note("$$")}\nif [ "$1" != daemon ]; then sh ${tool}; fi\n${linger} &\n${note("$!")}\n: > ${folder}/done-$1\nwait\n`,
  );
  writeFileSync(join(folder, "resume"), "read line\n");
  const everybody = (): number[] => {
    const file = join(folder, "codex-pids");
    return existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean).map(Number) : [];
  };
  return {
    startServer: [
      `cd ${folder}; export CODEX_HOME=${folder}/settings`,
      `setsid ${codex} app-server --listen unix:// --managed-daemon & setsid ${codex} app-server daemon pid-update-loop &`,
      `until [ -e done---listen ] && [ -e done-daemon ]; do sleep 0.02; done`,
      ": > all-started",
    ].join("\n"),
    everybody,
    hasStarted: () => existsSync(join(folder, "all-started")),
    async startClient(env) {
      const given = { PATH: process.env["PATH"], ...env };
      const client = spawn(codex, ["resume"], {
        cwd: folder,
        detached: true,
        stdio: ["pipe", "ignore", "ignore"],
        env: given,
      });
      await once(client, "spawn");
      const { pid = 0 } = client;
      clients.push(pid);
      return pid;
    },
    end: () => [...clients, ...everybody()].filter((pid) => worksIn(folder, pid)).forEach(killHard),
  };
}

/** Numbers may have been given to somebody else. */
function worksIn(folder: string, pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(folder);
  } catch {
    return false;
  }
}
