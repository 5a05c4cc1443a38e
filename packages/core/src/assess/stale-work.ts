import { type DurationMs, describeDuration, type MonoMs, type Policy } from "@rouse/contract";
import { beatRhythm } from "../accept/beat-rhythm.ts";
import { patienceWith, whenWorked, workedSince } from "../accept/work-clock.ts";
import type { Context } from "../context.ts";
import type { Mark } from "../facts.ts";
import type { AgentRecord } from "../record.ts";
import { type Detector, earliest, found, nothing, nothingUntil, wholeSeconds } from "./look.ts";
import { owesBeats } from "./missed-beats.ts";
import { describeWork, mayBeBuilding, stateOfTree } from "./process-tree.ts";

/** Work goes on although something is missing: worth a look, and no evidence. */
const goesOn = { goesOn: "yes" } as const;

/** No new checkpoint. Alone it is a warning; with nothing else new either, the agent gets nowhere. */
export const findStaleCheckpoint: Detector = (record, context) => {
  const { now, policy } = context;
  const mark = record.seen.facts.checkpoint;
  if (mark === null) return nothing;
  const seen = seenUntil(record, policy);
  const staleStuck = patienceWith(record, policy.staleStuck);
  const look = ageOf(record, mark, now, seen, [policy.staleDegraded, staleStuck]);
  if (look.age < policy.staleDegraded) return nothingUntil(look.next);
  const others = otherWork(record, now, seen, policy.staleDegraded);
  const building = mayBuild(record, context);
  const stuck = look.age >= staleStuck && !others.fresh && !building.now;
  return found(record, now, earliest(earliest(look.next, others.staleAt), building.until), {
    kind: "stale-checkpoint",
    level: stuck ? "stuck" : "degraded",
    confidence: stuck ? 0.9 : others.fresh ? 0.3 : 0.6,
    class: "absence",
    text: `no new checkpoint in ${describeDuration(look.age)} of work${others.fresh ? ", but other work goes on" : building.text}`,
    evidence: {
      workedSeconds: wholeSeconds(look.age),
      staleAfterSeconds: wholeSeconds(staleStuck),
      ...(others.fresh || building.now ? goesOn : {}),
    },
  });
};

/** No progress of any kind. An indicator that never moved says little, so it alone never makes an agent STUCK. */
export const findNoProgress: Detector = (record, context) => {
  const { now, policy } = context;
  const mark = record.seen.facts.progress;
  if (mark === null) return nothing;
  const staleStuck = patienceWith(record, policy.staleStuck);
  const look = ageOf(record, mark, now, seenUntil(record, policy), [policy.staleDegraded, staleStuck]);
  if (look.age < policy.staleDegraded) return nothingUntil(look.next);
  const building = mayBuild(record, context);
  const stands = record.seen.facts.progressMoves && certainlyStands(record) && !building.now;
  const stuck = look.age >= staleStuck && stands;
  return found(record, now, earliest(look.next, building.until), {
    kind: "no-progress",
    level: stuck ? "stuck" : "degraded",
    confidence: stuck ? 0.85 : record.seen.facts.progressMoves ? 0.5 : 0.3,
    class: "absence",
    text: `no new fact in ${describeDuration(look.age)} of work${building.text}`,
    evidence: {
      workedSeconds: wholeSeconds(look.age),
      staleAfterSeconds: wholeSeconds(staleStuck),
      ...(building.now ? goesOn : {}),
    },
  });
};

/** No tool call. While tokens are spent the agent may be thinking, which is a warning and no verdict. */
export const findNoToolCall: Detector = (record, context) => {
  const { now, policy } = context;
  const mark = record.seen.facts.toolCall;
  if (mark === null) return nothing;
  const seen = seenUntil(record, policy);
  const patience = patienceWith(record, policy.noToolCall);
  const look = ageOf(record, mark, now, seen, [patience]);
  if (look.age < patience) return nothingUntil(look.next);
  const others = otherWork(record, now, seen, patience);
  const tokens = freshness(record, record.seen.facts.tokens, now, seen, patience);
  const building = mayBuild(record, context);
  const stuck = !others.fresh && !tokens.fresh && certainlyStands(record) && !building.now;
  return found(record, now, earliest(earliest(others.staleAt, tokens.staleAt), building.until), {
    kind: "no-tool-call",
    level: stuck ? "stuck" : "degraded",
    confidence: stuck ? 0.8 : 0.4,
    class: "absence",
    text: `no tool call in ${describeDuration(look.age)} of work${tokens.fresh ? ", but tokens are being spent" : building.text}`,
    evidence: {
      workedSeconds: wholeSeconds(look.age),
      allowedSeconds: wholeSeconds(patience),
      ...(others.fresh || tokens.fresh || building.now ? goesOn : {}),
    },
  });
};

/** No token spent although the agent says that it is running. */
export const findZeroTokens: Detector = (record, context) => {
  const { now, policy } = context;
  const mark = record.seen.facts.tokens;
  if (mark === null) return nothing;
  const seen = seenUntil(record, policy);
  const patience = patienceWith(record, policy.zeroTokens);
  const look = ageOf(record, mark, now, seen, [patience]);
  if (look.age < patience) return nothingUntil(look.next);
  const others = otherWork(record, now, seen, patience);
  const building = mayBuild(record, context);
  const stuck = record.seen.facts.progressMoves && !others.fresh && certainlyStands(record) && !building.now;
  return found(record, now, earliest(others.staleAt, building.until), {
    kind: "zero-tokens",
    level: stuck ? "stuck" : "degraded",
    confidence: stuck ? 0.8 : 0.4,
    class: "absence",
    text: `no token spent in ${describeDuration(look.age)} of work${building.text}`,
    evidence: {
      workedSeconds: wholeSeconds(look.age),
      allowedSeconds: wholeSeconds(patience),
      ...(others.fresh || building.now ? goesOn : {}),
    },
  });
};

/** The agent has a task and is idle. */
export const findUnstartedTask: Detector = (record, { now, policy }) => {
  const { activity } = record.work;
  const { assignedAt: taskAssignedAt } = record.task;
  if (taskAssignedAt === null || activity.kind !== "IDLE") return nothing;
  const since = Math.max(taskAssignedAt, activity.since);
  const seen = seenUntil(record, policy);
  const lain = Math.min(now, seen) - since;
  if (lain < policy.taskNotStarted) return nothingUntil(ifSeen(since + policy.taskNotStarted, seen));
  const stuckAfter = 3 * policy.taskNotStarted;
  const stuck = lain >= stuckAfter;
  return found(record, now, stuck ? null : ifSeen(since + stuckAfter, seen), {
    kind: "task-not-started",
    level: stuck ? "stuck" : "degraded",
    confidence: stuck ? 0.8 : 0.6,
    class: "absence",
    text: `its task was assigned ${describeDuration(lain)} ago and it is idle`,
    evidence: { assignedSeconds: wholeSeconds(lain), allowedSeconds: wholeSeconds(policy.taskNotStarted) },
  });
};

/**
 * Until when an agent's work is known: its next expected beat, or the last one that was read. Silence has a detector of
 * its own and is not lack of progress as well.
 */
export function seenUntil(record: AgentRecord, policy: Policy): MonoMs {
  if (tellsOnlySteps(record)) return Number.POSITIVE_INFINITY;
  // No holder looks at the agent, and it sends no beats.
  if (record.seen.terminal?.holder === "lost" && !owesBeats(record)) return record.seen.terminal.seenAt;
  if (record.seen.terminal === null && record.beats.startedOver?.untimed && record.beats.lastAt !== null)
    return record.beats.lastAt;
  return record.life.heardAt + beatRhythm(record.work.activity, policy).interval + policy.beatGrace;
}

/** An agent that only tells steps is silent between them while the owner of the next step is busy. */
const tellsOnlySteps = (record: AgentRecord): boolean =>
  record.seen.steps !== null && !owesBeats(record) && record.seen.terminal === null;

/**
 * An open call may wait for a person's permission, and after a message nobody may be left to answer: only when it is
 * surely the model's turn is a standstill a verdict.
 */
const certainlyStands = (record: AgentRecord): boolean =>
  !tellsOnlySteps(record) || record.seen.steps?.owner === "model";

/** An agent with busy processes and nothing new may run something long. It gets the longest wait for children. */
function mayBuild(record: AgentRecord, { now, policy }: Context) {
  const { terminal, facts } = record.seen;
  const last = facts.progress ?? terminal?.output ?? null;
  const tree = stateOfTree(record, policy);
  if (last === null || !mayBeBuilding(tree, workedSince(record, last, now), policy))
    return { now: false, text: "", until: null };
  const patience = whenWorked(record.work.clock, last.worked + policy.longestWait.children);
  return {
    now: true,
    text:
      tree.kind === "busy" ? describeWork(terminal?.tree ?? null) : ", but its processes were at work when last seen",
    until: earliest(patience, tree.kind === "busy" && tree.until > now ? tree.until : null),
  };
}

/** Beyond what is known, the next beat decides when to look again. */
export const ifSeen = (at: MonoMs | null, seen: MonoMs): MonoMs | null => (at === null || at > seen ? null : at);

interface Age {
  readonly age: DurationMs;
  /** When the next of the thresholds will be reached. */
  readonly next: MonoMs | null;
}

/** While the work clock stands still there is no lack of progress. */
export function ageOf(
  record: AgentRecord,
  mark: Mark,
  now: MonoMs,
  seen: MonoMs,
  thresholds: readonly DurationMs[],
): Age {
  const { resumesAt } = record.work.clock;
  const known = Math.min(now, seen);
  if (resumesAt === null || resumesAt > known) return { age: 0, next: ifSeen(resumesAt, seen) };
  const age = workedSince(record, mark, known);
  let next: MonoMs | null = null;
  for (const threshold of thresholds) {
    if (age < threshold) next = earliest(next, ifSeen(whenWorked(record.work.clock, mark.worked + threshold), seen));
  }
  return { age, next };
}

/** Whether other work was new within `window`. Unknown counts as not fresh. */
const otherWork = (record: AgentRecord, now: MonoMs, seen: MonoMs, window: DurationMs) =>
  freshness(record, record.seen.facts.progress, now, seen, window);

export function freshness(record: AgentRecord, mark: Mark | null, now: MonoMs, seen: MonoMs, window: DurationMs) {
  if (mark === null || workedSince(record, mark, Math.min(now, seen)) >= window) return { fresh: false, staleAt: null };
  return { fresh: true, staleAt: ifSeen(whenWorked(record.work.clock, mark.worked + window), seen) };
}
