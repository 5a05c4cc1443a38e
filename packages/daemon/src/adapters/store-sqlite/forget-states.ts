import type { DatabaseSync } from "@rouse/holder/load-sqlite";
import type { StatesToKeep } from "../../ports/store.ts";
import { surplusStates } from "../../ports/surplus-states.ts";
import { transact } from "./transact.ts";

interface StateRow {
  readonly id: string;
  readonly head: string;
  readonly file: string | null;
  readonly forgotten: 0 | 1;
}

/** A state that was forgotten is in neither of its places. */
export function prepareForgettingStates(db: DatabaseSync) {
  const newestFirst = db.prepare<[string], StateRow>(
    `SELECT id, head, state_file AS file, state IS NULL AND state_file IS NULL AS forgotten
     FROM checkpoints WHERE task_id = ? ORDER BY number DESC`,
  );
  const forget = db.prepare<[string]>("UPDATE checkpoints SET state = NULL, state_file = NULL WHERE id = ?");

  function* statesOf(taskId: string) {
    for (const row of newestFirst.iterate(taskId)) yield { ...row, isForgotten: row.forgotten === 1 };
  }

  return ({ taskId, keep }: { readonly taskId: string; readonly keep: StatesToKeep }): string[] =>
    transact(db, () => {
      const surplus = surplusStates(statesOf(taskId), keep);
      for (const { id } of surplus) forget.run(id);
      return surplus.flatMap(({ file }) => file ?? []);
    });
}
