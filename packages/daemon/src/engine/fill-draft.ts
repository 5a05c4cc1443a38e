import type { AuditRecord, EpochMs, RouseEvent } from "@rouse/contract";
import type { Action } from "@rouse/core";
import { type AuditTrail, auditHead, type NewAuditLine } from "../audit/audit-trail.ts";
import { auditLineOf } from "../audit/audited-events.ts";
import { auditHeadMark } from "../ports/store.ts";
import type { GroupCommit } from "./group-commit.ts";

export interface DraftParts {
  readonly commits: GroupCommit;
  readonly audit: AuditTrail;
  readonly lastEventId: number;
}

/** Puts what happened and what is to be done into the next commit; what people may ask about later leaves its line in the audit trail with it. */
export function fillDraft(parts: DraftParts) {
  const { commits, audit } = parts;
  let { lastEventId } = parts;

  function saveEvents(
    events: readonly RouseEvent[],
    time: EpochMs,
    agentId: string | null,
    policy: string | null = null,
  ): void {
    const draft = commits.draft();
    for (const event of events) {
      draft.events.push({ id: ++lastEventId, time, agentId, event });
      const line = auditLineOf(event, time, policy);
      if (line !== null) addToTrail(line);
    }
  }

  const addToTrail = (line: NewAuditLine): void => addLines([audit.append(line), ...audit.sealWhenDue(line.time)]);

  /** What the trail has just written. */
  function addLines(lines: readonly AuditRecord[]): void {
    const draft = commits.draft();
    for (const line of lines) {
      draft.audit.push(line);
      draft.marks[auditHeadMark] = auditHead(line);
    }
  }

  function intend(action: Action, time: EpochMs): void {
    commits
      .draft()
      .actions.push({ key: action.key, agentId: action.agentId, createdAt: time, body: JSON.stringify(action) });
  }

  return { saveEvents, addToTrail, addLines, intend, eventsSaved: (): number => lastEventId - parts.lastEventId };
}

export type DraftFiller = ReturnType<typeof fillDraft>;
