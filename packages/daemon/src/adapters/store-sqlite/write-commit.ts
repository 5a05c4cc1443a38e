import { type CheckpointHead, Fault } from "@rouse/contract";
import type { DatabaseSync } from "@rouse/holder/load-sqlite";
import { epochLost, type SavedCheckpoint } from "../../ports/store.ts";
import type { Chains } from "./chain-signals.ts";
import { kinds, numbersPerSignal } from "./pack.ts";
import { toWhole } from "./read-kept.ts";
import type { PackedCommit, PackedLine, PackedRecords, PackedSignals } from "./thread-messages.ts";
import { transact } from "./transact.ts";

export function prepareWriting(db: DatabaseSync, chains: Chains) {
  const statements = prepare(db);

  /** An agent's signals lie scattered among those of all agents. Its chain finds them. */
  function removeAgent(agentNo: number): void {
    for (let id = chains.unlink(agentNo); id !== 0; ) {
      const before = statements.signalBefore.get(id)?.before ?? 0;
      statements.removeSignal.run(id);
      id = before;
    }
    statements.removeHours.run(agentNo);
    statements.removeRecord.run(agentNo);
  }

  function writeSignals({ numbers, bodies }: PackedSignals): void {
    if (bodies.length === 0) return;
    for (let i = 0, n = 0; i < bodies.length; i++, n += numbersPerSignal) {
      const id = numbers[n] ?? 0;
      const agentNo = numbers[n + 1] ?? 0;
      const before = chains.link(agentNo, id);
      if (before === null) continue;
      statements.signal.run(
        id,
        agentNo,
        before,
        numbers[n + 2] ?? 0,
        numbers[n + 3] ?? 0,
        kinds[numbers[n + 4] ?? 0] ?? "heartbeat",
        bodies[i] ?? "",
      );
    }
  }

  function writeRecords({ numbers, texts }: PackedRecords): void {
    for (let i = 0; i < numbers.length; i += 2) {
      statements.record.run(numbers[i] ?? 0, texts[i] ?? "", numbers[i + 1] ?? 0, texts[i + 1] ?? "");
    }
  }

  function writeTheFew({ events, actions, finished, machines, audit, marks }: PackedCommit): void {
    for (const e of events) statements.event.run(e.id, e.time, e.agentId, e.type, e.payload);
    for (const a of actions) statements.action.run(a.key, a.agentId, a.createdAt, a.body);
    for (const key of finished) statements.finish.run(key);
    for (const { machine, id, record, overAt } of machines) {
      if (record === null) statements.removeMachine.run(machine, id);
      else statements.machine.run(machine, id, record, overAt);
    }
    for (const line of audit) statements.audit.run(withWholeTexts(line));
    for (const [key, value] of Object.entries(marks)) {
      if (value === null) statements.unmark.run(key);
      else statements.mark.run(key, value);
    }
  }

  function writeCheckpoints(checkpoints: readonly SavedCheckpoint[]): void {
    for (const { id, taskId, number, time, head, state } of checkpoints) {
      const stateFile = state === null ? (JSON.parse(head) as CheckpointHead).stateHash : null;
      statements.checkpoint.run(id, taskId, number, time, head, state, stateFile);
    }
  }

  function refuseLostEpoch(epoch: number): void {
    const taken = epochIn(statements.epoch.get());
    if (epoch !== taken) throw epochLost(epoch, taken);
  }

  function write(commit: PackedCommit): void {
    try {
      transact(db, () => {
        refuseLostEpoch(commit.epoch);
        for (const agentNo of commit.removed) removeAgent(agentNo);
        writeSignals(commit.signals);
        writeRecords(commit.records);
        writeCheckpoints(commit.checkpoints);
        writeTheFew(commit);
        chains.saveNowAndThen();
      });
    } catch (error) {
      if (commit.signals.bodies.length > 0 || commit.removed.length > 0) chains.forget();
      throw error;
    }
  }

  return { write, takeOver: (): number => transact(db, () => epochIn(statements.takeOver.get())) };
}

/** Without its row two monitors could save at once, so a database that has lost it takes nothing. */
function epochIn(row: { readonly epoch: number } | undefined): number {
  if (row !== undefined) return row.epoch;
  throw new Fault(
    "database-damaged",
    "the database is damaged: it no longer says which monitor may save (its table shard is empty). Stop Rouse and restore a copy, or move rouse.db aside (with its -wal file) and start again.",
  );
}

/** Texts that may hold a NUL: those of a line that are neither JSON nor hex digits. */
const withWholeTexts = (line: PackedLine) => ({
  ...line,
  actor: toWhole(line.actor),
  action: toWhole(line.action),
  subject: toWhole(line.subject),
  reason: toWhole(line.reason),
  policy: toWhole(line.policy),
});

/** Writing a commit a second time changes nothing: it is tried again when nobody knows whether it was saved. */
function prepare(db: DatabaseSync) {
  return {
    epoch: db.prepare<[], { epoch: number }>("SELECT epoch FROM shard"),
    takeOver: db.prepare<[], { epoch: number }>("UPDATE shard SET epoch = epoch + 1 RETURNING epoch"),
    signal: db.prepare<[number, number, number, number, number, string, string]>(
      "INSERT INTO signals (id, agent_no, before, at, time, kind, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
    ),
    // A commit that is tried again late must not replace a record that newer signals have changed since.
    record: db.prepare<[number, string, number, string]>(
      `INSERT INTO agents (no, id, through, record) VALUES (?, ?, ?, ?)
       ON CONFLICT (no) DO UPDATE SET id = excluded.id, through = excluded.through, record = excluded.record
       WHERE excluded.through >= through`,
    ),
    event: db.prepare<[number, number, string | null, string, string]>(
      "INSERT OR IGNORE INTO events (id, time, agent_id, type, payload) VALUES (?, ?, ?, ?, ?)",
    ),
    action: db.prepare<[string, string | null, number, string]>(
      "INSERT OR IGNORE INTO actions (key, agent_id, created_at, body) VALUES (?, ?, ?, ?)",
    ),
    finish: db.prepare<[string]>("DELETE FROM actions WHERE key = ?"),
    machine: db.prepare<[string, string, string, number | null]>(
      `INSERT INTO machines (machine, id, record, over_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (machine, id) DO UPDATE SET record = excluded.record, over_at = excluded.over_at`,
    ),
    removeMachine: db.prepare<[string, string]>("DELETE FROM machines WHERE machine = ? AND id = ?"),
    checkpoint: db.prepare<[string, string, number, number, string, string | null, string | null]>(
      `INSERT INTO checkpoints (id, task_id, number, time, head, state, state_file) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO NOTHING`,
    ),
    audit: db.prepare<[ReturnType<typeof withWholeTexts>]>(
      `INSERT INTO audit (number, time, actor, action, subject, reason, evidence, policy, before, hash, signature)
       VALUES (@number, @time, CAST(@actor AS TEXT), CAST(@action AS TEXT), CAST(@subject AS TEXT), CAST(@reason AS TEXT),
               @evidence, CAST(@policy AS TEXT), @before, @hash, @signature)
       ON CONFLICT (number) DO NOTHING`,
    ),
    mark: db.prepare<[string, string]>("INSERT OR REPLACE INTO marks (key, value) VALUES (?, ?)"),
    signalBefore: db.prepare<[number], { before: number }>("SELECT before FROM signals WHERE id = ?"),
    removeSignal: db.prepare<[number]>("DELETE FROM signals WHERE id = ?"),
    removeHours: db.prepare<[number]>("DELETE FROM beat_hours WHERE agent_no = ?"),
    removeRecord: db.prepare<[number]>("DELETE FROM agents WHERE no = ?"),
    unmark: db.prepare<[string]>("DELETE FROM marks WHERE key = ?"),
  };
}
