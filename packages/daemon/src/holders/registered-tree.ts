import { type HolderFile, hasMark, isSame, type TreeRoot } from "@rouse/holder";
import type { RegisteredLife } from "../ports/holders.ts";
import { treeOf } from "./read-holder-files.ts";

/**
 * The processes that the file of a holder that is gone names, where they are those that were registered of that life; `null` where they are not,
 * and nobody may be signalled for it: whoever can write the file could name anybody in it.
 */
export function registeredTree(file: HolderFile, registered: RegisteredLife | null): TreeRoot | null {
  const tree = treeOf(file);
  if (tree === null || registered === null || registered.incarnation !== file.incarnation) return null;
  if (tree.agent.pid !== registered.pid || !isThatLife(tree, registered)) return null;
  return { ...tree, known: tree.known.filter(({ pid }) => registered.left.includes(pid)) };
}

/** For a command where no monitor runs, so that nobody can be asked what was registered. */
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
