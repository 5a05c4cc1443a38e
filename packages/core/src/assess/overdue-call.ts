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
import { conclude, type Detector, nothing, nothingUntil, wholeSeconds } from "./look.ts";
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
  return {
    finding: conclude(record, now, {
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
    }),
    lookAgainAt: null,
  };
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
