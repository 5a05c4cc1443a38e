import { setTimeout as pause } from "node:timers/promises";
import type { OrderRefusal, RunningProcess, SparedProcess, StopOutcome } from "@rouse/contract";
import type { ProcessId } from "../protocol/spec.ts";
import { type AgentGroup, mayLeaveGroup, openGroup } from "./cgroup.ts";
import { ourLine, whomToSpare } from "./find-tree.ts";
import { createOwnerTest } from "./other-agents.ts";
import {
  executableOf,
  identityOf,
  isSame,
  isStopped,
  keyOf,
  type ProcessInfo,
  readAllProcesses,
  readProcess,
  type TreeRoot,
} from "./read-processes.ts";
import { apartFromOthers, orphanedServers, withoutShared } from "./spare-others.ts";
import { createTreeWatch, type TreeWatch } from "./watch-tree.ts";

const lookEveryMs = 50;
/**
 * A process in the middle of `exec` shows no environment: when no process is found, a second look follows after this.
 */
const secondLookMs = 5;
/** For killed processes to be gone: freeing much memory takes a while. */
const patienceMs = 5_000;
const rounds = 50;

const underway = new Map<string, Promise<StopOutcome>>();

/**
 * Ends an agent with all processes it started: asked first, killed after `graceMs`, looked for again until none is
 * found. A second call meanwhile gets the same outcome.
 */
export function stopTree(tree: TreeWatch | TreeRoot, { graceMs }: { graceMs: number }): Promise<StopOutcome> {
  const watch = "look" in tree ? tree : createTreeWatch(tree);
  const key = keyOf(watch.root().agent);
  const joined = underway.get(key);
  if (joined !== undefined) return joined;
  const stopping = stop(watch, graceMs).finally(() => underway.delete(key));
  underway.set(key, stopping);
  return stopping;
}

async function stop(watch: TreeWatch, graceMs: number): Promise<StopOutcome> {
  const because = whyRefuse(watch.root());
  if (because !== null) return { kind: "refused", because };
  const hunt = createHunt(watch);
  const spared = () => (hunt.spared().length === 0 ? {} : { spared: [...hunt.spared()] });
  const stopped = (forced: boolean): StopOutcome => ({
    kind: "stopped",
    forced,
    processes: hunt.count(),
    tier: hasGroup(watch.root()) ? "cgroup" : "marked",
    ...(hunt.mayHaveLeft() ? { mayHaveLeft: true as const } : {}),
    // The caller asks the server afterwards.
    ...(hunt.sparesCodex() ? { sharedTurn: "may-go-on" as const } : {}),
    ...(hunt.servers().length === 0 ? {} : { servers: [...hunt.servers()].slice(0, 20) }),
    ...spared(),
  });
  if (await isOver(hunt)) return explainNobody(watch.root(), spared());
  hunt.thaw();
  if (await endsWhenAsked(hunt, graceMs)) return stopped(false);
  const survivors = await force(hunt);
  if (survivors.length === 0) return stopped(true);
  const named = survivors.slice(0, 100).map(({ pid, name }) => ({ pid, name: name.slice(0, 100) }));
  return { kind: "termination_incomplete", survivors: named };
}

function whyRefuse({ agent, ownGroup }: TreeRoot): OrderRefusal | null {
  if (agent.pid <= 1 || ourLine(readAllProcesses()).includes(agent.pid)) return "pid-refused";
  return isSame(agent) && readProcess(agent.pid)?.pgid === ownGroup ? "own-group" : null;
}

/** The pid may belong to another process now. Only an existing, empty group proves that the tree has ended. */
function explainNobody(root: TreeRoot, spared: { spared?: SparedProcess[] }): StopOutcome {
  const { agent } = root;
  if (hasGroup(root) || identityOf(agent.pid) === null) return { kind: "already-over", ...spared };
  return { kind: "refused", because: "identity-changed" };
}

const hasGroup = ({ cgroup }: TreeRoot): boolean => cgroup !== null && openGroup(cgroup) !== null;

async function endsWhenAsked(hunt: Hunt, graceMs: number): Promise<boolean> {
  const until = performance.now() + graceMs;
  const asked = new Set<string>();
  for (;;) {
    if (await isOver(hunt)) return true;
    for (const member of hunt.look().filter((each) => !asked.has(keyOf(each)))) {
      asked.add(keyOf(member));
      hunt.send(member, "SIGTERM");
      if (isStopped(member)) hunt.send(member, "SIGCONT");
    }
    const left = until - performance.now();
    if (left <= 0) return false;
    await pause(Math.min(lookEveryMs, left));
  }
}

/** The processes that are left after everything was tried. */
async function force(hunt: Hunt): Promise<ProcessInfo[]> {
  const until = performance.now() + patienceMs;
  for (let round = 0; round < rounds; round++) {
    await holdStill(hunt);
    hunt.killGroup();
    const killed = new Set<string>();
    for (const member of hunt.look()) {
      killed.add(keyOf(member));
      hunt.send(member, "SIGKILL");
    }
    while (!(await isOver(hunt))) {
      const left = hunt.look();
      if (left.length > 0 && (performance.now() >= until || left.every(hunt.isDenied))) return left;
      if (left.some((member) => !killed.has(keyOf(member)))) break;
      await pause(lookEveryMs);
    }
    if (await isOver(hunt)) return [];
  }
  return hunt.look();
}

/**
 * A stopped process cannot fork, restart another or lose its parent. When two looks find no new process, the tree
 * cannot change any more. Processes in a control group are left to the kernel, which needs none of this to end them.
 */
async function holdStill(hunt: Hunt): Promise<void> {
  const held = new Set<string>();
  for (let quiet = 0, looks = 0; quiet < 2 && looks < rounds; looks++) {
    const fresh = hunt.lookOutsideGroup().filter((member) => !held.has(keyOf(member)));
    for (const member of fresh) {
      held.add(keyOf(member));
      hunt.send(member, "SIGSTOP");
    }
    quiet = fresh.length === 0 ? quiet + 1 : 0;
    if (quiet < 2) await pause(secondLookMs);
  }
}

async function isOver(hunt: Hunt): Promise<boolean> {
  if (hunt.look().length > 0) return false;
  await pause(secondLookMs);
  return hunt.look().length === 0;
}

type Hunt = ReturnType<typeof createHunt>;

/**
 * One stop of one tree: which processes were met, which may not be signalled, and the only place that sends signals.
 */
export function createHunt(watch: TreeWatch) {
  const met = new Set<string>();
  const denied = new Set<string>();
  const halted = new Map<string, ProcessId>();
  const proven = new Set<string>();
  const servers = new Map<string, RunningProcess>();
  let sparesCodex = false;
  let spared: readonly SparedProcess[] = [];
  let mayHaveLeft = false;

  return {
    look,
    /** The processes that `killGroup` does not reach: all of them, if the group may not be used. */
    lookOutsideGroup() {
      const inside = new Set(wholeGroup()?.members());
      return look().filter(({ pid }) => !inside.has(pid));
    },
    send,
    /** The kernel refused a signal: the process is another user's. */
    isDenied: (member: ProcessId) => denied.has(keyOf(member)),
    killGroup: () => void wholeGroup()?.kill(),
    thaw: () => group()?.thaw(),
    /** How many processes were met so far. */
    count: () => met.size,
    /** A Codex server was left alone at the last look, because others use it. */
    sparesCodex: () => sparesCodex,
    /** What was left alone at the last look, because of another agent. */
    spared: () => spared,
    /** Terminal servers that were met: sessions that people opened there end with them. */
    servers: () => [...servers.values()],
    /** A process that was met had the right to leave the control group of the tree. */
    mayHaveLeft: () => mayHaveLeft,
  };

  function look(): ProcessInfo[] {
    const members = watch.look();
    const apart = apartFromOthers(watch.root(), { members, others: watch.others() });
    const own = withoutShared(watch.root(), apart.own, proven);
    sparesCodex = own.length < apart.own.length;
    spared = apart.spared;
    const ours = [...own, ...orphanedServers(watch.root(), members)];
    const { cgroup } = watch.root();
    const fresh = ours.filter((member) => !met.has(keyOf(member)));
    mayHaveLeft ||= cgroup !== null && fresh.some(({ pid }) => mayLeaveGroup(cgroup, pid));
    const names = new Set(ours.map(keyOf));
    for (const each of ours) note(each);
    // Another agent came to use these after we stopped them.
    for (const [name, member] of halted) if (!names.has(name) && halted.delete(name)) send(member, "SIGCONT");
    return ours;
  }

  function note(member: ProcessInfo): void {
    const name = keyOf(member);
    if (met.has(name)) return;
    met.add(name);
    const isAgent = member.pid === watch.root().agent.pid;
    if (!isAgent && servesTerminals(member)) servers.set(name, { pid: member.pid, name: member.name.slice(0, 100) });
  }

  /** Does nothing if the pid is no longer that process, or the process belongs to another agent by now. */
  function send(member: ProcessId, signal: NodeJS.Signals): void {
    if (!isSame(member) || isOthers(member)) return;
    try {
      process.kill(member.pid, signal);
      if (signal === "SIGSTOP") halted.set(keyOf(member), member);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EPERM") denied.add(keyOf(member));
      else if (code !== "ESRCH") throw error;
    }
  }

  /** Asked right before a signal: since the last look the process may have become a holder. */
  function isOthers({ pid }: ProcessId): boolean {
    const info = readProcess(pid);
    return info !== null && createOwnerTest(watch.root())(info) !== null;
  }

  /** `null` when there is no group, or it contains a process to spare: then each process is signalled by itself. */
  function wholeGroup(): AgentGroup | null {
    const whole = group();
    if (whole === null) return null;
    const members = watch.look();
    const { own } = apartFromOthers(watch.root(), { members, others: watch.others() });
    if (withoutShared(watch.root(), own, proven).length < members.length) return null;
    const untouched = whomToSpare(watch.root(), readAllProcesses());
    for (const { pid } of watch.others()) untouched.add(pid);
    return whole.members().every((pid) => !untouched.has(pid)) ? whole : null;
  }

  function group(): AgentGroup | null {
    const { cgroup } = watch.root();
    return cgroup === null ? null : openGroup(cgroup);
  }
}

const terminalServers = new Set(["tmux", "screen", "dtach", "abduco", "zellij"]);

/** Told by the file it runs. A server leads a session; its clients do not, or are in the agent's own. */
function servesTerminals({ pid, session }: ProcessInfo): boolean {
  // Debian's screen is `screen-4.9`
  return session === pid && terminalServers.has(executableOf(pid)?.replace(/-.*/, "") ?? "");
}
