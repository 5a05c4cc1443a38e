import type { Nursery } from "./real-processes.test-support.ts";

/** One process of a tree that misbehaves at random. */
interface Sapling {
  readonly id: number;
  readonly children: Sapling[];
  ownSession: boolean;
  /** Started through one that ends at once, so that its parent is the first process. */
  orphan: boolean;
  ignoresTerm: boolean;
  cleansEnvironment: boolean;
  diesEarly: boolean;
  /** Starts its first child again whenever that ends. */
  respawns: boolean;
  /** Becomes its parent when that is gone. */
  revives: boolean;
}

/** mulberry32 */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * `anything` also makes what only a control group can hold: whoever was orphaned in a new session with a clean
 * environment before being seen.
 */
export function growRandomTree(nursery: Nursery, seed: number, anything: boolean): { script: string; size: number } {
  const next = seeded(seed);
  const chance = (probability: number): boolean => next() < probability;
  const deep = chance(0.25);
  let size = 0;
  const root = sprout(null, 0);
  writeScripts(root, null);
  return { script: `${nursery.folder}/${root.id}.sh`, size };

  function sprout(parent: Sapling | null, depth: number): Sapling {
    const sapling: Sapling = {
      id: size++,
      children: [],
      ownSession: parent !== null && chance(0.3),
      orphan: parent !== null && chance(0.3),
      ignoresTerm: chance(0.3),
      cleansEnvironment: parent !== null && chance(0.2),
      diesEarly: chance(0.15),
      respawns: chance(0.25),
      revives: parent !== null && !parent.diesEarly && !parent.revives && chance(0.2),
    };
    const wanted = deep ? (depth < 8 ? 1 : 0) : depth < 3 ? Math.floor(next() * 4) : 0;
    for (let index = 0; index < wanted && size < 14; index++) sapling.children.push(sprout(sapling, depth + 1));
    settle(sapling, parent);
    return sapling;
  }

  /** Takes away what would contradict itself, or spin. */
  function settle(sapling: Sapling, parent: Sapling | null): void {
    if (sapling.revives) sapling.diesEarly = false;
    const first = sapling.children[0];
    if (first === undefined || sapling.diesEarly || sapling.revives) sapling.respawns = false;
    if (sapling.respawns && first !== undefined) Object.assign(first, { diesEarly: false, orphan: false });
    if (anything) return;
    if (parent !== null && sapling.diesEarly) sapling.ownSession = false;
    const harmless = sapling.children.length === 0 && !parent?.diesEarly && !sapling.revives && !sapling.ownSession;
    sapling.cleansEnvironment &&= harmless;
  }

  function writeScripts(sapling: Sapling, parent: Sapling | null): void {
    const { children, respawns } = sapling;
    const first = children[0];
    nursery.write(`${sapling.id}.sh`, [
      ...(sapling.ignoresTerm ? ["trap '' TERM"] : []),
      `echo ${sapling.id} >> ${nursery.folder}/started`,
      ...(respawns ? children.slice(1) : children).map(launch),
      ...(respawns && first !== undefined ? [`while :; do ${command(first)}; done`] : []),
      ...ending(sapling, parent),
    ]);
    for (const child of children) writeScripts(child, sapling);
  }

  function ending({ diesEarly, revives }: Sapling, parent: Sapling | null): string[] {
    if (diesEarly) return ["exit 0"];
    if (!revives || parent === null) return [`exec ${nursery.linger}`];
    return ["while kill -0 $1 2>/dev/null; do sleep 0.03; done", `exec sh ${nursery.folder}/${parent.id}.sh`];
  }

  function launch(child: Sapling): string {
    return child.orphan ? `( ${command(child)} & )` : `${command(child)} &`;
  }

  function command({ id, ownSession, cleansEnvironment }: Sapling): string {
    return `${cleansEnvironment ? "env -i " : ""}${ownSession ? "setsid " : ""}sh ${nursery.folder}/${id}.sh $$`;
  }
}
