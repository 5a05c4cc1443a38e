import { setTimeout as pause } from "node:timers/promises";
import type { OrderRefusal, SparedProcess, StopOutcome } from "@rouse/contract";
import type { ProcessId } from "../protocol/spec.ts";
import { openGroup } from "./cgroup.ts";
import { ourLine } from "./find-tree.ts";
import { createHunt, type Hunt } from "./hunt-tree.ts";
import {
  identityOf,
  isSame,
  isStopped,
  type ProcessInfo,
  readAllProcesses,
  readProcess,
  type TreeRoot,
} from "./read-processes.ts";
import { createTreeWatch, type TreeWatch } from "./watch-tree.ts";

const lookEveryMs = 50;
/** A process in the middle of `exec` shows no environment: somebody not found is looked for once more after this. */
const secondLookMs = 5;
/** For those killed to be gone: giving back much memory takes a while. */
const patienceMs = 5_000;
const rounds = 50;

const underway = new Map<string, Promise<StopOutcome>>();

/**
 * Ends an agent with everybody it started: asked first, forced after `graceMs`, looked for again until nobody is found. Asked for a second
 * time meanwhile, both get the same outcome.
 */
export function stopTree(tree: TreeWatch | TreeRoot, { graceMs }: { graceMs: number }): Promise<StopOutcome> {
  const watch = "look" in tree ? tree : createTreeWatch(tree);
  const key = nameOf(watch.root().agent);
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
    // Until somebody has asked.
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

/** The pid belongs to somebody else now. Only a group that is still there and empty proves that the tree is over. */
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
    for (const member of hunt.look().filter((each) => !asked.has(nameOf(each)))) {
      asked.add(nameOf(member));
      hunt.send(member, "SIGTERM");
      if (isStopped(member)) hunt.send(member, "SIGCONT");
    }
    const left = until - performance.now();
    if (left <= 0) return false;
    await pause(Math.min(lookEveryMs, left));
  }
}

/** Who is left after everything was tried. */
async function force(hunt: Hunt): Promise<ProcessInfo[]> {
  const until = performance.now() + patienceMs;
  for (let round = 0; round < rounds; round++) {
    await holdStill(hunt);
    hunt.killGroup();
    const killed = new Set<string>();
    for (const member of hunt.look()) {
      killed.add(nameOf(member));
      hunt.send(member, "SIGKILL");
    }
    while (!(await isOver(hunt))) {
      const left = hunt.look();
      if (left.length > 0 && (performance.now() >= until || left.every(hunt.isDenied))) return left;
      if (left.some((member) => !killed.has(nameOf(member)))) break;
      await pause(lookEveryMs);
    }
    if (await isOver(hunt)) return [];
  }
  return hunt.look();
}

/**
 * Whoever is stopped cannot fork, restart another or lose a parent. When two looks find nobody new, the tree cannot change any more. Those in
 * a control group are left to the kernel, which ends them without that.
 */
async function holdStill(hunt: Hunt): Promise<void> {
  const held = new Set<string>();
  for (let quiet = 0, looks = 0; quiet < 2 && looks < rounds; looks++) {
    const fresh = hunt.lookOutsideGroup().filter((member) => !held.has(nameOf(member)));
    for (const member of fresh) {
      held.add(nameOf(member));
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

const nameOf = ({ pid, startTicks }: ProcessId): string => `${pid}:${startTicks}`;
