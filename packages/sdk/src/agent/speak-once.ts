import { type Environment, hostProcess } from "./surroundings.ts";

/** In the environment, so that processes which an agent starts know that it speaks for itself. */
const mark = "ROUSE_SPEAKER";

/**
 * One process speaks for an agent. Whoever was started by it, inherits its name and uses the SDK as well is a guest: its
 * steps and checkpoints count, but it sends no beats, whose numbers would be confused.
 */
export function speakFor(agentId: string, env: Environment): { readonly host: number | null; end(): void } {
  const host = hostProcess();
  const isReal = host !== null && host.env === env;
  if (!isReal) return { host: null, end: () => undefined };
  const [named, pid] = splitMark(env[mark]);
  if (named === agentId && isOther(pid, host.pid) && isAlive(pid)) return { host: pid, end: () => undefined };
  const ours = `${agentId}/${host.pid}`;
  host.env[mark] = ours;
  spokenHere.add(ours);
  return {
    host: null,
    end() {
      spokenHere.delete(ours);
      if (host.env[mark] === ours) delete host.env[mark];
    },
  };
}

/** By this copy of the SDK. Threads have copies of their own and the process id in common. */
const spokenHere = new Set<string>();
const isOther = (pid: number, own: number): boolean => pid !== own || spokenHere.size === 0;

function splitMark(text = ""): readonly [string, number] {
  const slash = text.lastIndexOf("/");
  return [text.slice(0, slash), Number(text.slice(slash + 1))];
}

function isAlive(pid: number): boolean {
  try {
    return Number.isInteger(pid) && pid > 0 && hostProcess()?.kill(pid, 0) === true;
  } catch (error) {
    return (error as { code?: string }).code === "EPERM";
  }
}
