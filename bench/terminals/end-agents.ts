import { existsSync, readdirSync, readFileSync, rmdirSync } from "node:fs";
import { dirname, join } from "node:path";

const longestMs = 5000;
const betweenLooksMs = 20;

/**
 * Ends every process that belongs to this ROUSE_HOME, however it came to be, and takes away the control groups that
 * killed holders left. Waits without giving way to anything else, so that it works while this process ends, too.
 */
export function endAgents(home: string): void {
  const groups = groupsOf(home);
  lookUntil(() => {
    const left = processesOf(home);
    for (const pid of left) attempt(() => process.kill(pid, "SIGKILL"));
    return left.length === 0;
  });
  // A process that nobody finds any more may still be on its way out of its group.
  lookUntil(() => {
    for (const group of groups) {
      for (const folder of [group, join(dirname(group), "holder"), dirname(group)]) attempt(() => rmdirSync(folder));
    }
    return !groups.some((group) => existsSync(dirname(group)));
  });
}

function lookUntil(isDone: () => boolean): void {
  const giveUpAt = performance.now() + longestMs;
  while (!isDone() && performance.now() < giveUpAt)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, betweenLooksMs);
}

/** A holder is told its folder; everybody else inherits ROUSE_HOME. Its name is random, so no stranger has it. */
export function processesOf(home: string): number[] {
  const mine = (pid: number): boolean =>
    fieldsOf(pid, "cmdline").some((argument) => argument.startsWith(`${home}/`)) ||
    fieldsOf(pid, "environ").includes(`ROUSE_HOME=${home}`);
  return list("/proc")
    .map(Number)
    .filter((pid) => pid > 1 && pid !== process.pid && mine(pid));
}

function groupsOf(home: string): string[] {
  return list(join(home, "holders")).flatMap((agentId) => {
    const { cgroup } = read(join(home, "holders", agentId, "holder.json"), JSON.parse) ?? {};
    return typeof cgroup === "string" ? [cgroup] : [];
  });
}

const fieldsOf = (pid: number, file: "cmdline" | "environ"): string[] =>
  read(`/proc/${pid}/${file}`, (text) => text.split("\0")) ?? [];

function read<T>(file: string, parse: (text: string) => T): T | null {
  try {
    return parse(readFileSync(file, "utf8"));
  } catch {
    return null; // it ended meanwhile, or is not ours to read
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // gone already
  }
}
