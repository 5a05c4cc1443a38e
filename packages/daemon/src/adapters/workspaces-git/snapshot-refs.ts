import type { Repository } from "./find-repository.ts";
import { refsOf } from "./name-ref.ts";
import { atEachNul } from "./nul-records.ts";
import { failed } from "./run-git.ts";
import { readNote, type SnapshotNote } from "./snapshot-note.ts";

export interface KeptSnapshot {
  readonly ref: string;
  readonly commit: string;
  readonly note: SnapshotNote;
}

const newestKept = 20;

/** Snapshots below a name, newest first. What somebody else put there is left alone. */
export async function readSnapshots(repository: Repository, under: string): Promise<KeptSnapshot[]> {
  const kept: KeptSnapshot[] = [];
  let fields: string[] = [];
  const take = (record: Buffer): void => {
    fields.push(record.toString("utf8"));
    if (fields.length < 3) return;
    const [ref = "", commit = "", message = ""] = fields;
    fields = [];
    const note = readNote(message);
    // Each answer ends with a line break, which begins the next.
    if (note !== null) kept.push({ ref: ref.trimStart(), commit, note });
  };
  const format = "--format=%(refname)%00%(objectname)%00%(contents)%00";
  await repository.read(["for-each-ref", format, under], atEachNul(take));
  return kept.sort((a, b) => b.note.time - a.note.time || (a.ref < b.ref ? 1 : -1));
}

/** Whoever comes first keeps the name; the other takes what is there. */
export async function keepUnder(repository: Repository, ref: string, commit: string): Promise<"kept" | "taken"> {
  const args = ["update-ref", "--no-deref", "--stdin"];
  const answer = await repository.ask(args, `create ${ref} ${commit}\n`);
  if (answer.status === 0) return "kept";
  if (/already exists/.test(answer.stderr)) return "taken";
  throw failed(args, answer);
}

/** Removes all but the newest of an agent. */
export async function thinOut(repository: Repository, agentId: string, spare: readonly string[]): Promise<void> {
  const all = await readSnapshots(repository, refsOf(agentId));
  const old = all
    .filter(({ note }) => note.agentId === agentId)
    .slice(newestKept)
    .filter(({ commit }) => !spare.includes(commit));
  if (old.length === 0) return;
  const orders = old.map(({ ref, commit }) => `delete ${ref} ${commit}\n`).join("");
  await repository.ask(["update-ref", "--no-deref", "--stdin"], orders);
}
