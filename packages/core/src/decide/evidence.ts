import type { EvidenceClass, FindingKind, MonoMs, Policy } from "@rouse/contract";
import { knownToBeatThroughWork } from "../accept/accept-signal.ts";
import { gravity } from "../assess/look.ts";
import { movedSince } from "../assess/moved-since.ts";
import { stateOfTree } from "../assess/process-tree.ts";
import type { AgentRecord, Finding } from "../record.ts";

/**
 * What speaks against an agent, by kind. Absence is one kind, however many eyes report it: no beats, no output, no progress, processes at rest. Each
 * other kind is something positive: seen, said, decided or ruled by the owner.
 */
export function kindsOfEvidence(record: AgentRecord, now: MonoMs, policy: Policy): ReadonlySet<EvidenceClass> {
  const kinds = new Set<EvidenceClass>();
  for (const finding of record.findings) {
    if (!speaksAgainst(finding)) continue;
    if (finding.class === "absence") kinds.add("absence");
    else if (gravity[finding.level] >= gravity.stuck) {
      kinds.add(finding.class);
      if (saysThatNothingIsNew(record, finding, policy)) kinds.add("absence");
    }
    if (isRuledByOwner(record, finding, policy)) kinds.add("owner-rule");
  }
  if (kinds.size > 0 && stateOfTree(record, policy).kind === "quiet") kinds.add("absence");
  if (ignoresNudge(record, now, policy)) kinds.add("unanswered-nudge");
  return kinds;
}

/** A stop needs absence and something positive, or two positive kinds: two kinds, since absence counts once. */
export const isEnough = (kinds: ReadonlySet<EvidenceClass>): boolean => kinds.size >= 2;

/** Shown to whoever looks; nobody is stopped for it. */
const onlyShown: ReadonlySet<FindingKind> = new Set<FindingKind>(["token-spike", "self-reported", "holder-lost"]);

/** What our own doubt holds down is no evidence; whose processes are at work is quiet, not idle; whose work goes on does not stand still. */
const speaksAgainst = ({ kind, level, held, evidence }: Finding): boolean =>
  level !== "note" &&
  held === undefined &&
  !onlyShown.has(kind) &&
  evidence["busy"] !== "yes" &&
  evidence["goesOn"] !== "yes";

/** Findings that by their own definition say that nothing new came in between: of these, what was seen and what was missing are two things. */
const nothingNew: ReadonlySet<FindingKind> = new Set<FindingKind>([
  "identical-step",
  "identical-change",
  "cycle",
  "same-words",
  "no-novelty",
  "stale-results",
  "repeated-error",
  "overdue-call",
]);

const saysThatNothingIsNew = ({ facts }: AgentRecord, { kind }: Finding, policy: Policy): boolean =>
  nothingNew.has(kind) || (kind === "consecutive-failures" && facts.failingBeats > policy.consecutiveFailures);

/** What the owner of this agent said in advance: stop it when it is idle, when it repeats an error, or when a timer of its own falls silent. */
export function isRuledByOwner(record: AgentRecord, { kind, level }: Finding, policy: Policy): boolean {
  switch (kind) {
    case "no-output":
      return level === "stuck" && (policy.terminal.stopOnIdle || record.terminal?.idleKill != null);
    case "repeated-error":
      return level === "stuck" && policy.terminal.stopOnRepeatedError;
    case "missed-beats":
      return level === "unresponsive" && policy.restartOnMissedBeats && beatsByTimer(record);
    default:
      return false;
  }
}

/** It was heard in the middle of one tool or wait, in rhythm, again and again: its beats do not depend on its work. */
const beatsByTimer = ({ facts }: AgentRecord): boolean => facts.beatsThroughWork >= knownToBeatThroughWork;

/** A nudge that the agent itself has shown to have read, and did nothing about in its time. A beat that was lost since may have held its answer. */
function ignoresNudge(record: AgentRecord, now: MonoMs, policy: Policy): boolean {
  const { nudge } = record;
  if (nudge === null || nudge.sent === null || nudge.state !== "seen" || !nudge.receipt) return false;
  if (record.beats.lost > nudge.sent.lost) return false;
  return now >= nudge.sent.at + policy.nudge.interval + nudge.unseen && !movedSince(record, nudge);
}
