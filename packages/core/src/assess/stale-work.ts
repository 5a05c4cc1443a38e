import { type DurationMs, describeDuration, type MonoMs, type Policy } from "@rouse/contract";
import { beatRhythm } from "../accept/beat-rhythm.ts";
import { patienceWith, whenWorked, workedSince } from "../accept/work-clock.ts";
import type { Context } from "../context.ts";
import type { Mark } from "../facts.ts";
import type { AgentRecord } from "../record.ts";
import { type Detector, earliest, found, nothing, nothingUntil, wholeSeconds } from "./look.ts";
import { owesBeats } from "./missed-beats.ts";
import { describeWork, mayBeBuilding, stateOfTree } from "./process-tree.ts";

/** Something is missing, and work goes on all the same: worth a look, and no evidence against anybody. */
const goesOn = { goesOn: "yes" } as const;

/** No new checkpoint. Alone it is a warning; with nothing else new either, the agent is going nowhere. */
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

/** No new fact of work of any kind. An indicator that never moved yet says little, so it alone never makes an agent STUCK. */
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

/** No tool call. While tokens are being spent it may be thinking hard: that is a warning, not a verdict. */
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

/** No token spent although it says it is running. */
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

/** There is work on its hook and it does not run it. */
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
 * What is known of an agent's work ends where the agent was last heard, or should have been heard next; where beats come and cannot be read, with the
 * last that was. Silence has a detector of its own; it is not lack of progress as well.
 */
export function seenUntil(record: AgentRecord, policy: Policy): MonoMs {
  if (tellsOnlySteps(record)) return Number.POSITIVE_INFINITY;
  // Nobody looks at it any more, and it says nothing itself.
  if (record.seen.terminal?.holder === "lost" && !owesBeats(record)) return record.seen.terminal.seenAt;
  if (record.seen.terminal === null && record.beats.startedOver?.untimed && record.beats.lastAt !== null)
    return record.beats.lastAt;
  return record.life.heardAt + beatRhythm(record.work.activity, policy).interval + policy.beatGrace;
}

/** Such an agent is heard when it has taken a step; in between, its silence is that of whoever owns the next one. */
const tellsOnlySteps = (record: AgentRecord): boolean =>
  record.seen.steps !== null && !owesBeats(record) && record.seen.terminal === null;

/**
 * An open call may be waiting for a person's permission, and after somebody's word there may be nobody left to answer: only when it is certainly the model's turn is
 * standing still a verdict.
 */
const certainlyStands = (record: AgentRecord): boolean =>
  !tellsOnlySteps(record) || record.seen.steps?.owner === "model";

/**
 * An agent whose processes are at work and that shows nothing new runs something long and does not say so. It is given as long as children may be
 * waited for.
 */
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

/** Past what can be known, looking again is up to the next beat. */
export const ifSeen = (at: MonoMs | null, seen: MonoMs): MonoMs | null => (at === null || at > seen ? null : at);

interface Age {
  readonly age: DurationMs;
  /** When the next of the thresholds will be reached. */
  readonly next: MonoMs | null;
}

/** While the clock stands still there is no lack of progress to speak of, however much there was before. */
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

/** Whether anything else of the work was new within `window`; unknown counts as not fresh, its own detector is silent then. */
const otherWork = (record: AgentRecord, now: MonoMs, seen: MonoMs, window: DurationMs) =>
  freshness(record, record.seen.facts.progress, now, seen, window);

export function freshness(record: AgentRecord, mark: Mark | null, now: MonoMs, seen: MonoMs, window: DurationMs) {
  if (mark === null || workedSince(record, mark, Math.min(now, seen)) >= window) return { fresh: false, staleAt: null };
  return { fresh: true, staleAt: ifSeen(whenWorked(record.work.clock, mark.worked + window), seen) };
}
