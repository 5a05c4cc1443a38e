import { type DurationMs, type MonoMs, minutes } from "@rouse/contract";
import { type Guarded, guardedBy, type OpenBreaker, openNow } from "../breakers/open-breakers.ts";
import type { AgentRecord, Finding } from "../record.ts";
import { type Detector, earliest, found, gravity, nothing } from "./look.ts";
import { isLoop } from "./moved-since.ts";

/** Five times what a breaker of checkpoints waits by default: the writes do not come back by themselves. */
const longUnsaved: DurationMs = minutes(10);

/**
 * What the agent's circuit breakers say, by the gravest of them. Only that of all its tools makes it FAILING, and not
 * while it gets somewhere. One that Rouse runs is what was seen, so it is the same kind of evidence as a loop: the same
 * failures do not count twice. An external API that is down is its provider's fault, so it never speaks against the agent.
 * An agent without work calls nothing, so its breakers say nothing about now.
 */
export const findOpenBreaker: Detector = (record, { now }) => {
  if (record.seen.breakers.length === 0 || record.work.activity.kind === "IDLE") return nothing;
  const open = openNow(record.seen.breakers, now);
  const [first, ...rest] = open.map((breaker) => judge(breaker, record, now));
  if (first === undefined) return nothing;
  const worst = rest.reduce((a, b) => (outweighs(b, a) ? b : a), first);
  const others = rest.length === 0 ? "" : `; ${rest.length} more not closed`;
  const lasting = open.some((breaker) => isLasting(breaker, now));
  const { breaker, level, confidence, gets, waits } = worst;
  const { operation, state, source, since } = breaker;
  const guarded = guardedBy(operation);
  return found(record, now, nextChange(open, now), {
    kind: "breaker-open",
    level,
    confidence,
    class: guarded === "api" ? "self-report" : source === "agent" ? "explicit-error" : "repetition",
    text: `its circuit breaker for ${guardedNames[guarded]} is ${state === "OPEN" ? "open" : "half open"}${source === "agent" ? ", as it reports" : ""}${others}`,
    evidence: {
      ...{ operation, state, open: open.length, openSeconds: Math.floor((now - since) / 1000) },
      ...(gets ? { goesOn: "yes" } : {}),
      ...(waits ? { waits: "yes" } : {}),
      ...(lasting ? { lasting: "yes" } : {}),
    },
  });
};

const guardedNames: Readonly<Record<Guarded, string>> = {
  tools: "all its tools",
  tool: "one of its tools",
  checkpoints: "saving its checkpoints",
  api: "an external API",
  other: "something it calls",
};

interface Judged extends Pick<Finding, "level" | "confidence"> {
  readonly breaker: OpenBreaker;
  /** It got somewhere since the failures began. */
  readonly gets: boolean;
  /**
   * It holds itself back until its breaker lets it try, has not tried since, or waits for a call: one that takes too
   * long is another finding.
   */
  readonly waits: boolean;
}

const isInCall = ({ work: { activity } }: AgentRecord): boolean =>
  activity.kind === "RUNNING" && activity.open !== null;

function judge(breaker: OpenBreaker, record: AgentRecord, now: MonoMs): Judged {
  const { operation, state, source, failingSince, retryAt } = breaker;
  const guarded = guardedBy(operation);
  const gets = getsSomewhere(record, failingSince);
  const waits =
    source === "agent" && (!hasReopened(breaker) || (retryAt !== null && now < retryAt) || isInCall(record));
  const judged = { breaker, gets, waits };
  // Nobody is called for a provider that is down: the alert is enough.
  if (guarded === "api") return { ...judged, level: "degraded", confidence: 0.4 };
  // A test that fails between changes that work is how work looks, and calls that go well again say more than a pause.
  if (source === "observed" && gets) return { ...judged, level: "note", confidence: 0.4 };
  const stands = guarded === "tools" && state === "OPEN" && !gets && record.work.activity.kind === "RUNNING";
  const isFailing = stands && (source === "agent" || (hasReopened(breaker) && !goesInCircles(record)));
  return isFailing
    ? { ...judged, level: "failing", confidence: source === "agent" ? 0.8 : 0.6 }
    : { ...judged, level: "degraded", confidence: 0.6 };
}

/** Of two that are equally grave, the one that lets nothing through. */
const outweighs = (one: Judged, other: Judged): boolean =>
  gravity[one.level] > gravity[other.level] ||
  (one.level === other.level && one.breaker.state === "OPEN" && other.breaker.state !== "OPEN");

/**
 * The call after the pause failed as well. Until then nobody knows whether the failures go on: an agent that thinks
 * calls nothing, and where Rouse only watches, five calls may fail while it looks for something.
 */
const hasReopened = ({ failingSince, unsettledSince }: OpenBreaker): boolean => failingSince > unsettledSince;

/** A loop has a ladder of its own, which begins with a nudge. */
const goesInCircles = ({ health: { findings } }: AgentRecord): boolean =>
  findings.some(({ kind, level }) => isLoop(kind) && gravity[level] >= gravity.stuck);

/** A call that went well with something new, a checkpoint, or, where no calls are told, news of its work. */
function getsSomewhere({ seen: { facts, steps } }: AgentRecord, since: MonoMs): boolean {
  if ((facts.checkpoint?.at ?? Number.NEGATIVE_INFINITY) > since) return true;
  if (steps === null) return (facts.progress?.at ?? Number.NEGATIVE_INFINITY) > since;
  return steps.steps.some(
    ({ at, failed, novelCall, novelResult }) => failed === false && (novelCall || novelResult) && (at ?? since) > since,
  );
}

const isLasting = ({ operation, unsettledSince }: OpenBreaker, now: MonoMs): boolean =>
  guardedBy(operation) === "checkpoints" && now - unsettledSince >= longUnsaved;

/** When the answer changes by itself: a breaker ages out, lets the agent try, or stood for long. */
function nextChange(open: readonly OpenBreaker[], now: MonoMs): MonoMs | null {
  const due = open.flatMap(({ operation, agesOutAt, retryAt, unsettledSince }) => [
    agesOutAt,
    retryAt,
    guardedBy(operation) === "checkpoints" ? unsettledSince + longUnsaved : null,
  ]);
  return due.filter((at) => at !== null && at > now).reduce(earliest, null);
}
