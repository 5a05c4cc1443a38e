import { type HolderFile, hasMark, isSame, type TreeRoot } from "@rouse/holder";
import type { RegisteredLife } from "../ports/holders.ts";
import { treeOf } from "./read-holder-files.ts";

/**
 * The processes that the file of a holder that is gone names, if they are the registered ones of that life. `null`:
 * they are not, and none may be signalled, because anybody who can write the file could name any process in it.
 */
export function registeredTree(file: HolderFile, registered: RegisteredLife | null): TreeRoot | null {
  const tree = treeOf(file);
  if (tree === null || registered === null || registered.incarnation !== file.incarnation) return null;
  if (tree.agent.pid !== registered.pid || !isThatLife(tree, registered)) return null;
  return { ...tree, known: tree.known.filter(({ pid }) => registered.left.includes(pid)) };
}

/** The same for a command while no monitor runs that could be asked what was registered. */
export function markedTree(file: HolderFile): TreeRoot | null {
  const tree = treeOf(file);
  return tree === null || !carriesItsMark(tree)
    ? null
    : { ...tree, known: tree.known.filter(({ pid }) => hasMark(pid, tree.mark)) };
}

function isThatLife(tree: TreeRoot, { identity }: RegisteredLife): boolean {
  if (identity === null) return carriesItsMark(tree);
  const { startTicks, mark, cgroup } = identity;
  return tree.agent.startTicks === startTicks && tree.mark === mark && tree.cgroup === cgroup;
}

const carriesItsMark = ({ agent, mark }: TreeRoot): boolean => !isSame(agent) || hasMark(agent.pid, mark);
