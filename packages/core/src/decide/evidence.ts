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
 * The evidence against an agent, by kind. Absence is one kind, however many eyes report it: no beats, no output, no
 * progress, processes at rest. Every other kind is positive: seen, said, decided or ruled by the owner.
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

/** A stop needs absence and something positive, or two positive kinds. */
export const isEnough = (kinds: ReadonlySet<EvidenceClass>): boolean => kinds.size >= 2;

/** Kinds of things that an agent actively does until it is stopped. */
const atIt: ReadonlySet<EvidenceClass> = new Set<EvidenceClass>([
  "repetition",
  "explicit-error",
  "resource",
  "self-report",
]);

/**
 * All evidence is that nothing comes from the agent, so any sign of work speaks for it, also one that is still on its
 * way.
 */
export const restsOnSilence = ({ health: { findings } }: AgentRecord, policy: Policy): boolean =>
  !findings.some(
    (finding) => speaksAgainst(finding, policy) && gravity[finding.level] >= gravity.stuck && isAtIt(finding),
  );

/** An agent that works on at a lost task does so until it is stopped. */
const isAtIt = (finding: Finding): boolean => atIt.has(finding.class) || finding.kind === "task-timed-out";

/**
 * No evidence: what our own doubt restrains, an agent whose processes or other work go on, and one that repeats a call
 * at a measured pace and may be waiting. A repeated error counts only where the owner said so.
 */
const speaksAgainst = ({ kind, level, restrainedBy, evidence }: Finding, policy: Policy): boolean =>
  level !== "note" &&
  restrainedBy === undefined &&
  (kind !== "repeated-error" || policy.terminal.stopOnRepeatedError) &&
  evidence["busy"] !== "yes" &&
  evidence["goesOn"] !== "yes" &&
  evidence["waits"] !== "yes";

/** Findings that by definition say that nothing new came in between: they are absence as well. */
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

/**
 * Quiet processes are an absence only where nothing else moves: an agent that prints or takes steps waits between them.
 */
const isAtRest = (record: AgentRecord, { now, policy }: Context): boolean =>
  stateOfTree(record, policy).kind === "quiet" && now - newestFact(record) >= quietAfter(policy);

/**
 * The owner's rules: stop the agent when it is idle, repeats an error, works on after a timeout, or its own beat timer
 * stops.
 */
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

/**
 * The agent beats in the middle of tools and waits, so a timer sends its beats. Unknown while its beats are not read.
 */
const beatsByTimer = (record: AgentRecord): boolean =>
  record.seen.facts.beatsThroughWork >= knownToBeatThroughWork && !repeatsNumbers(record);

/** A look at processes covers the time since the look before it. */
const betweenLooks: DurationMs = seconds(15);

/**
 * Its timer may be blocked, not dead: its processes worked since its last beat, nobody could look, or a child of its
 * open tool lives.
 */
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

/** The agent has shown that it read the nudge and did nothing in its time. A lost beat may have held its answer. */
function ignoresNudge(record: AgentRecord, { now, policy }: Context): boolean {
  const { nudge } = record.ladder;
  if (nudge === null || nudge.sent === null || nudge.state !== "seen" || !nudge.receipt) return false;
  if (record.beats.lost > nudge.sent.lost) return false;
  return now >= nudge.sent.at + policy.nudge.interval + nudge.unseen && !movedSince(record, nudge);
}
