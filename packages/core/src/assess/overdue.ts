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

/** How long a program itself waits for its model without a byte before it gives up or tries again; with a margin. Others are not known. */
const knownPatience: Readonly<Partial<Record<AgentFamily, DurationMs>>> = {
  "claude-code": minutes(11),
  codex: minutes(11),
};

/**
 * A request or a tool is open for longer than its program lets it be, and a second eye confirms it: nothing came through its sockets, no child that
 * could be the tool lives, nothing was computed or written since. Where nobody could look at the sockets, nothing is confirmed.
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
  // A request that goes through no connection that is counted goes some other way, and nobody looks there.
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

/** Declared by the call itself, or set by the owner, or known of the program. `null`: nobody knows. */
function limitOf(open: Open, family: TerminalFacts["family"], policy: Policy): DurationMs | null {
  if (open.kind === "model") return policy.modelRequest ?? knownPatience[family] ?? null;
  if (open.timeoutSeconds === undefined) return null;
  return Math.max(policy.openTool, open.timeoutSeconds * 1000 + policy.openToolMargin);
}

/** A holder tells what it read within this time: a tool may have been started so long before it is known to be open. */
const toldWithin: DurationMs = seconds(30);

/** A child that was started with the tool is the tool. Where there are children and nobody could see when they were started, one of them may be. */
function runsAsChild(open: Open, terminal: TerminalFacts, { youngestChildAt, processes }: TreeFacts): boolean {
  if (open.kind !== "tool") return false;
  if (youngestChildAt === null) return processes > 1;
  return youngestChildAt >= toolsBegunAt(terminal, open.since) - toldWithin;
}

/** A program that tells its steps tells when a call ends; who beats may have ended it long ago, and its silence is held against it already. */
const isSaidSince = ({ beats }: AgentRecord, open: Open, terminal: TerminalFacts, due: MonoMs): boolean =>
  (tellsSteps(terminal) && (open.kind === "model" || terminal.tools.length > 0)) ||
  (beats.lastAt !== null && beats.lastAt >= due);

/** What was read before the time was up says nothing of what came since. */
const isLookedAt = (tree: TreeFacts, due: MonoMs): boolean => tree.at >= due;

/**
 * Its task ran over the timeout and was taken from it, it was told to stop, and works on. Only an agent that can be stopped, that names no other task and
 * was given none; only work that was seen after the time a nudge is given. Who rests, waits or stands still is left to the other detectors.
 */
export const findOvertime: Detector = (record, { now, policy }) => {
  const { overtime, id: taskId } = record.task;
  const { terminal } = record.seen;
  const { activity } = record.work;
  if (overtime === null || overtime.taskId !== taskId || terminal === null || policy.tasks.afterTimeout === "none")
    return nothing;
  if ((activity.kind !== "RUNNING" && activity.kind !== "STARTING") || terminal.turnEndedAt !== null) return nothing;
  const due = toldToStopAt(record, overtime.since) + policy.nudge.interval;
  // What it does next wakes us: nothing is held against it for time alone.
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

/** The time in which nobody could see what came of it is not held against it. */
const toldToStopAt = ({ ladder: { nudge } }: AgentRecord, since: MonoMs): MonoMs =>
  nudge?.template === "task-taken" && nudge.sent !== null ? Math.max(since, nudge.sent.at) + nudge.unseen : since;

/** The agent itself has shown that it read that its task is no longer its own, and has not answered. A beat that was lost since may have held its answer. */
function isToldToStop({ beats, ladder: { nudge, answers } }: AgentRecord): boolean {
  if (nudge?.template !== "task-taken" || nudge.sent === null || !nudge.receipt) return false;
  return answers?.since !== nudge.id && beats.lost <= nudge.sent.lost;
}

/** What it was told to stop, it goes on with: the nudge is unanswered however much it does. That it had its time to answer is part of the finding. */
export const ignoresStop = (record: AgentRecord): boolean =>
  isToldToStop(record) && record.health.findings.some(({ kind }) => kind === "task-timed-out");
