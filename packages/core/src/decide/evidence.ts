import { type DurationMs, type EvidenceClass, type FindingKind, type Policy, seconds } from "@rouse/contract";
import { knownToBeatThroughWork } from "../accept/accept-heartbeat.ts";
import { repeatsNumbers } from "../accept/order-beat.ts";
import { gravity } from "../assess/look.ts";
import { movedSince, newestFact } from "../assess/moved-since.ts";
import { ignoresStop } from "../assess/overdue.ts";
import { quietAfter, stateOfTree } from "../assess/process-tree.ts";
import type { Context } from "../context.ts";
import type { AgentRecord, Finding } from "../record.ts";
import { toolsBegunAt } from "../terminal-facts.ts";

/**
 * What speaks against an agent, by kind. Absence is one kind, however many eyes report it: no beats, no output, no progress, processes at rest. Each
 * other kind is something positive: seen, said, decided or ruled by the owner.
 */
export function kindsOfEvidence(record: AgentRecord, context: Context): ReadonlySet<EvidenceClass> {
  const { policy } = context;
  const kinds = new Set<EvidenceClass>();
  for (const finding of record.health.findings) {
    if (!speaksAgainst(finding, policy)) continue;
    if (finding.class === "absence") kinds.add("absence");
    else if (gravity[finding.level] >= gravity.stuck) {
      kinds.add(finding.class);
      if (nothingNew.has(finding.kind)) kinds.add("absence");
    }
    if (isRuledByOwner(record, finding, policy)) kinds.add("owner-rule");
  }
  if (kinds.size > 0 && isAtRest(record, context)) kinds.add("absence");
  if (ignoresNudge(record, context) || ignoresStop(record)) kinds.add("unanswered-nudge");
  return kinds;
}

/** A stop needs absence and something positive, or two positive kinds: two kinds, since absence counts once. */
export const isEnough = (kinds: ReadonlySet<EvidenceClass>): boolean => kinds.size >= 2;

/** What an agent is found to do, and goes on doing while it is stopped for it. */
const atIt: ReadonlySet<EvidenceClass> = new Set<EvidenceClass>([
  "repetition",
  "explicit-error",
  "resource",
  "self-report",
]);

/** Whether everything that speaks against it is that nothing comes from it: then any sign of work speaks for it, also one that nobody has heard of yet. */
export const restsOnSilence = ({ health: { findings } }: AgentRecord, policy: Policy): boolean =>
  !findings.some(
    (finding) => speaksAgainst(finding, policy) && gravity[finding.level] >= gravity.stuck && isAtIt(finding),
  );

/** Who works on at a task whose time is over does so until it is stopped. */
const isAtIt = (finding: Finding): boolean => atIt.has(finding.class) || finding.kind === "task-timed-out";

/**
 * What our own doubt holds down is no evidence; whose processes are at work is quiet, not idle; whose work goes on does not stand still; who asks the
 * same again at a measured pace may be waiting for it to change. For a repeated error somebody is stopped only where its owner said so.
 */
const speaksAgainst = ({ kind, level, restrainedBy, evidence }: Finding, policy: Policy): boolean =>
  level !== "note" &&
  restrainedBy === undefined &&
  (kind !== "repeated-error" || policy.terminal.stopOnRepeatedError) &&
  evidence["busy"] !== "yes" &&
  evidence["goesOn"] !== "yes" &&
  evidence["waits"] !== "yes";

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

/** Quiet processes are an absence only where nothing else moves either: who prints, tells of work or takes steps waits between them. */
const isAtRest = (record: AgentRecord, { now, policy }: Context): boolean =>
  stateOfTree(record, policy).kind === "quiet" && now - newestFact(record) >= quietAfter(policy);

/** What the owner of this agent said in advance: stop it when it is idle, when it repeats an error, when it works on at a task that timed out, or when a timer of its own falls silent. */
export function isRuledByOwner(record: AgentRecord, { kind, level, evidence }: Finding, policy: Policy): boolean {
  switch (kind) {
    case "no-output":
      if (level !== "stuck" || evidence["goesOn"] === "yes") return false;
      return policy.terminal.stopOnIdle || record.seen.terminal?.idleKill != null;
    case "repeated-error":
      return level === "stuck" && policy.terminal.stopOnRepeatedError;
    case "missed-beats":
      return (
        level === "unresponsive" && policy.restartOnMissedBeats && beatsByTimer(record) && !livesOn(record, policy)
      );
    case "task-timed-out":
      return policy.tasks.afterTimeout === "stop";
    default:
      return false;
  }
}

/** It was heard in the middle of one tool or wait, in rhythm, again and again: its beats do not depend on its work. Of one whose beats are not read, nobody knows. */
const beatsByTimer = (record: AgentRecord): boolean =>
  record.seen.facts.beatsThroughWork >= knownToBeatThroughWork && !repeatsNumbers(record);

/** A look at processes covers the time since the look before it. */
const betweenLooks: DurationMs = seconds(15);

/** Since its last beat its processes were seen at work, and lately; nobody could look at them, or a child that began with its open tool lives: its timer may be blocked, not dead. */
function livesOn(record: AgentRecord, policy: Policy): boolean {
  const { beats } = record;
  const { terminal } = record.seen;
  const { activity } = record.work;
  const tree = terminal?.tree ?? null;
  if (tree === null || beats.lastAt === null || tree.at <= beats.lastAt) return true;
  const opened = activity.kind === "RUNNING" && activity.open?.kind === "tool" ? activity.open.since : null;
  const begun = opened === null || terminal === null ? opened : toolsBegunAt(terminal, opened);
  const hasChild = begun !== null && (tree.youngestChildAt ?? Number.NEGATIVE_INFINITY) >= begun - betweenLooks;
  const isBusy = tree.busyAt > beats.lastAt + betweenLooks && stateOfTree(record, policy).kind !== "quiet";
  return isBusy || hasChild;
}

/** A nudge that the agent itself has shown to have read, and did nothing about in its time. A beat that was lost since may have held its answer. */
function ignoresNudge(record: AgentRecord, { now, policy }: Context): boolean {
  const { nudge } = record.ladder;
  if (nudge === null || nudge.sent === null || nudge.state !== "seen" || !nudge.receipt) return false;
  if (record.beats.lost > nudge.sent.lost) return false;
  return now >= nudge.sent.at + policy.nudge.interval + nudge.unseen && !movedSince(record, nudge);
}
