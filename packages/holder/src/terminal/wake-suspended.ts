import { readAllProcesses, readProcess } from "../processes/read-processes.ts";

/** Ctrl-Z, and as terminals send it that tell more about each key. */
const suspends = [Buffer.from([0x1a]), Buffer.from("\x1b[122;5u")];

/** A moment for the program to leave its screen and stop; on a busy machine it takes a longer one. Whoever goes on already does not notice the second. */
const wakeAfterMs = [300, 2000];

/**
 * Nobody can bring a program back that was suspended under Rouse: it leads the session of its terminal, there is no shell beside it. The kernel ignores that it
 * stops itself, and it waits for ever for somebody to say `fg`. So it is told at once that it goes on, and draws its screen again. `pid`: the agent's.
 */
export function wakeSuspended(pid: number, typed: Buffer): void {
  if (!suspends.some((key) => typed.includes(key))) return;
  for (const delay of wakeAfterMs) setTimeout(wake, delay, pid).unref();
}

function wake(pid: number): void {
  const group = groupToWake(pid);
  if (group === null) return;
  try {
    process.kill(-group, "SIGCONT");
  } catch {
    // Gone meanwhile, or not ours to signal.
  }
}

/**
 * The group of processes in the foreground of an agent's terminal, if nobody there could bring it back: of a shell's jobs, the shell takes care. `null` when
 * the agent has no terminal of its own.
 */
export function groupToWake(pid: number): number | null {
  const agent = readProcess(pid);
  if (agent === null || agent.session !== pid || agent.foreground <= 1) return null;
  const inside = readAllProcesses().filter(({ session }) => session === pid);
  const members = inside.filter(({ pgid }) => pgid === agent.foreground);
  const groups = new Map(inside.map((each) => [each.pid, each.pgid]));
  const hasShell = members.some(({ ppid, pgid }) => groups.has(ppid) && groups.get(ppid) !== pgid);
  return members.length === 0 || hasShell ? null : agent.foreground;
}
