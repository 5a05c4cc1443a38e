import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Linux counts CPU time in hundredths of a second, whatever the kernel's own tick. */
const ticksPerSecond = 100;

/** CPU seconds all threads of a process have used so far. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name in the second field may hold spaces and brackets; what follows its last bracket does not.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

export function residentMegabytes(pid: number): number {
  const kilobytes = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  if (kilobytes === undefined) throw new Error(`process ${pid} has no resident memory`);
  return Number(kilobytes) / 1024;
}

export interface Memory {
  /** Resident, pages shared with other processes counted in full. */
  readonly rss: number;
  /** The same, with each shared page divided by those who share it. */
  readonly pss: number;
  /** What would be free if this process alone ended. */
  readonly own: number;
}

export const memoryOf = (pid: number): Memory => readRollup(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"));

/** Megabytes from `/proc/PID/smaps_rollup`. */
export function readRollup(text: string): Memory {
  const megabytes = (field: string): number => {
    const kilobytes = new RegExp(`^${field}:\\s*(\\d+) kB$`, "m").exec(text)?.[1];
    if (kilobytes === undefined) throw new Error(`the kernel does not tell ${field} of a process`);
    return Number(kilobytes) / 1024;
  };
  return {
    rss: megabytes("Rss"),
    pss: megabytes("Pss"),
    own: megabytes("Private_Clean") + megabytes("Private_Dirty"),
  };
}

/** What a process takes of one core while `work` goes on. */
export async function cpuShareDuring<T>(pid: number, work: Promise<T>): Promise<{ share: number; result: T }> {
  const [before, from] = [cpuSeconds(pid), performance.now()];
  const result = await work;
  return { share: (cpuSeconds(pid) - before) / ((performance.now() - from) / 1000), result };
}

/** Records of agents that merely beat are saved up to twenty seconds later: a shorter calm proves nothing. */
const quietFor = 25;
const quietShare = 0.03;

/** Waits until a process is idle again. Returns how many seconds that took; gives up after `longest`. */
export async function untilQuiet(pid: number, longest = 150): Promise<number> {
  const started = performance.now();
  const elapsed = (): number => (performance.now() - started) / 1000;
  for (let calm = 0; calm < quietFor && elapsed() < longest; ) {
    const { share } = await cpuShareDuring(pid, sleep(5000));
    calm = share < quietShare ? calm + 5 : 0;
  }
  return elapsed();
}
