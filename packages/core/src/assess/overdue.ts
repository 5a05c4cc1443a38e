import {
  type AgentFamily,
  type DurationMs,
  describeDuration,
  type MonoMs,
  minutes,
  type Policy,
  seconds,
} from "@rouse/contract";
import type { Activity } from "../facts.ts";
import type { AgentRecord } from "../record.ts";
import { type TerminalFacts, type TreeFacts, tellsSteps, toolsBegunAt } from "../terminal-facts.ts";
import { type Detector, found, nothing, nothingUntil, wholeSeconds } from "./look.ts";
import { newestFact } from "./moved-since.ts";
import { stateOfTree } from "./process-tree.ts";

/** How long a program waits for its model without a byte before it gives up or tries again, with a margin. */
const knownPatience: Readonly<Partial<Record<AgentFamily, DurationMs>>> = {
  "claude-code": minutes(11),
  codex: minutes(11),
};

/**
 * A request or a tool is open for longer than its program allows, and the processes confirm it: no byte came through
 * the sockets, no child could be the tool, nothing was computed or written. Without a look at the sockets nothing is
 * confirmed.
 */
export const findOverdueCall: Detector = (record, { now, policy }) => {
  const { activity } = record.work;
  const { terminal } = record.seen;
  if (terminal === null || terminal.holder === "lost" || activity.kind !== "RUNNING" || activity.open === null)
    return nothing;
  const { open } = activity;
  const limit = limitOf(open, terminal.family, policy);
  const { tree } = terminal;
  if (limit === null || tree === null || tree.network === null || runsAsChild(open, terminal, tree)) return nothing;
  // A request without a counted connection goes some way that nobody looks at.
  if (open.kind === "model" && tree.network.sockets === 0) return nothing;
  const movedAt = Math.max(
    open.since,
    terminal.output.at,
    tree.busyAt,
    tree.stirredAt,
    tree.youngestChildAt ?? open.since,
  );
  const due = movedAt + limit;
  if (now < due) return nothingUntil(due);
  if (stateOfTree(record, policy).kind !== "quiet" || !isLookedAt(tree, due)) return nothing;
  if (!isSaidSince(record, open, terminal, due)) return nothing;
  const waited = now - movedAt;
  const what = open.kind === "model" ? "its request to the model" : "its tool";
  return found(record, now, null, {
    kind: "overdue-call",
    level: "stuck",
    confidence: 0.9,
    class: "overdue",
    text: `${what} is open for ${describeDuration(now - open.since)}, ${describeDuration(waited)} without a byte; it is given up after ${describeDuration(limit)}`,
    evidence: {
      waitedSeconds: wholeSeconds(waited),
      limitSeconds: wholeSeconds(limit),
      sockets: tree.network.sockets,
    },
  });
};

type Open = NonNullable<Extract<Activity, { kind: "RUNNING" }>["open"]>;

/** The limit that the call declares, the owner sets or the program is known for. `null`: nobody knows. */
function limitOf(open: Open, family: TerminalFacts["family"], policy: Policy): DurationMs | null {
  if (open.kind === "model") return policy.modelRequest ?? knownPatience[family] ?? null;
  if (open.timeoutSeconds === undefined) return null;
  return Math.max(policy.openTool, open.timeoutSeconds * 1000 + policy.openToolMargin);
}

/** A holder reports within this time, so a tool may have started that long before it is known to be open. */
const toldWithin: DurationMs = seconds(30);

/** A child that started with the tool is the tool. Where the start of the children is unknown, one of them may be. */
function runsAsChild(open: Open, terminal: TerminalFacts, { youngestChildAt, processes }: TreeFacts): boolean {
  if (open.kind !== "tool") return false;
  if (youngestChildAt === null) return processes > 1;
  return youngestChildAt >= toolsBegunAt(terminal, open.since) - toldWithin;
}

/** A program that tells its steps tells the end of a call. An agent that only beats must have beaten since. */
const isSaidSince = ({ beats }: AgentRecord, open: Open, terminal: TerminalFacts, due: MonoMs): boolean =>
  (tellsSteps(terminal) && (open.kind === "model" || terminal.tools.length > 0)) ||
  (beats.lastAt !== null && beats.lastAt >= due);

/** A reading from before the deadline says nothing of the time after it. */
const isLookedAt = (tree: TreeFacts, due: MonoMs): boolean => tree.at >= due;

/**
 * The agent works on at a task that timed out and was taken from it. Counts only for a held agent that has no other
 * task, and only work seen after the time to answer the nudge. Rest and standstill are left to other detectors.
 */
export const findOvertime: Detector = (record, { now, policy }) => {
  const { overtime, id: taskId } = record.task;
  const { terminal } = record.seen;
  const { activity } = record.work;
  if (overtime === null || overtime.taskId !== taskId || terminal === null || policy.tasks.afterTimeout === "none")
    return nothing;
  if ((activity.kind !== "RUNNING" && activity.kind !== "STARTING") || terminal.turnEndedAt !== null) return nothing;
  const due = toldToStopAt(record, overtime.since) + policy.nudge.interval;
  // Its next action wakes us: time alone counts nothing here.
  if (newestFact(record) < due) return nothing;
  const over = now - overtime.since;
  return found(record, now, null, {
    kind: "task-timed-out",
    level: "stuck",
    confidence: 0.9,
    class: "overdue",
    text: `it works on although its task timed out ${describeDuration(over)} ago and is no longer its own`,
    evidence: { sinceSeconds: wholeSeconds(over), told: isToldToStop(record) ? "yes" : "no" },
  });
};

/** When the agent was told to stop, moved on by the time in which nobody could see it. */
const toldToStopAt = ({ ladder: { nudge } }: AgentRecord, since: MonoMs): MonoMs =>
  nudge?.template === "task-taken" && nudge.sent !== null ? Math.max(since, nudge.sent.at) + nudge.unseen : since;

/** The agent has shown that it read the order to stop, and has not answered. A lost beat may have held its answer. */
function isToldToStop({ beats, ladder: { nudge, answers } }: AgentRecord): boolean {
  if (nudge?.template !== "task-taken" || nudge.sent === null || !nudge.receipt) return false;
  return answers?.since !== nudge.id && beats.lost <= nudge.sent.lost;
}

/** The agent works on although it was told to stop, so the nudge is unanswered however much it does. */
export const ignoresStop = (record: AgentRecord): boolean =>
  isToldToStop(record) && record.health.findings.some(({ kind }) => kind === "task-timed-out");
