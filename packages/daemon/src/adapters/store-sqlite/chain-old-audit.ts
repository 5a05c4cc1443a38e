import { createHash } from "node:crypto";
import { canonicalJson, toIso } from "@rouse/contract";
import type { DatabaseSync } from "@rouse/holder/load-sqlite";

interface OldLine {
  readonly time: number;
  readonly actor: string;
  readonly action: string;
  readonly reason: string;
}

/**
 * Part of a migration step, so it stays as it is even if the trail's format moves on: makes a chain of the audit of schema 1, which had neither
 * numbers nor hashes. What it says was not vouched for before, and is from here on.
 */
export function chainOldAudit(db: DatabaseSync): void {
  const add = db.prepare(
    `INSERT INTO audit (number, time, actor, action, subject, reason, evidence, policy, before, hash, signature)
     VALUES (?, ?, ?, ?, ?, ?, '{}', NULL, ?, ?, NULL)`,
  );
  let number = 0;
  let before = "0".repeat(64);
  for (const old of db.prepare<[], OldLine>("SELECT time, actor, action, reason FROM old_audit ORDER BY id").all()) {
    number++;
    const time = toIso(old.time);
    const { actor, reason } = old;
    const { action, subject } = splitAction(old.action);
    const line = { number, time, actor, action, subject, reason, evidence: {}, policy: null, before };
    const hash = createHash("sha256").update(canonicalJson(line)).digest("hex");
    add.run(number, time, actor, action, subject, reason, before, hash);
    before = hash;
  }
  if (number === 0) return;
  db.prepare("INSERT INTO marks (key, value) VALUES ('audit-head', ?)").run(JSON.stringify({ number, hash: before }));
}

/** "stop worker-1" was about worker-1; "freeze" was about nobody. */
function splitAction(text: string): { action: string; subject: string | null } {
  const [action = "", ...subject] = text.split(" ");
  return { action, subject: subject.length === 0 ? null : subject.join(" ") };
}
