import {
  type ActivityReport,
  type AgentHealth,
  type EpochMs,
  type EvidenceClass,
  type FindingReport,
  type MonoMs,
  type Policy,
  printable,
  type TerminalReport,
  toIso,
  type WhyReport,
} from "@rouse/contract";
import {
  type AgentRecord,
  beatRhythm,
  type Doubt,
  eyesOn,
  type Finding,
  foresee,
  howOver,
  interventionsOf,
  isEnough,
  isExited,
  isOver,
  isStanding,
  kindsOfEvidence,
  lastBeatHeard,
  limitSeenToAt,
  newestFact,
  type Over,
  restartsAllowed,
  runsOnce,
  silenceCountsFrom,
  type TerminalFacts,
  type TreeFacts,
  tellsSteps,
  workedSince,
  worksOn,
} from "@rouse/core";
import { describeIncident } from "../escalations/describe-incident.ts";

type ToWall = (at: MonoMs) => EpochMs;

/** The record as people and programs outside see it: dates instead of steady time. */
export function describeAgent(record: AgentRecord, now: MonoMs, toWall: ToWall, policy: Policy): AgentHealth {
  const iso = (at: MonoMs): string => toIso(toWall(at));
  const { facts } = record.seen;
  const heardAt = lastBeatHeard(record.beats);
  const over = howOver(record, policy);
  // An agent that will be started again is not up meanwhile either.
  const upUntil = over?.at ?? record.seen.terminal?.exit?.at ?? now;
  return {
    agentId: record.agentId,
    taskId: record.task.id,
    state: record.health.state,
    stateChangedAt: iso(record.health.since),
    stateReason: record.health.reason,
    over: describeOver(over, toWall),
    lastHeartbeat: heardAt === null ? null : iso(heardAt),
    lastHeard: describeLastHeard(record, heardAt, iso),
    lastCheckpoint: facts.checkpoint === null ? null : iso(facts.checkpoint.at),
    phase: inItsWords(facts.phase),
    progress: inItsWords(facts.progressIndicator),
    metrics: {
      uptimeSeconds: Math.max(0, Math.floor((upUntil - record.life.bornAt) / 1000)),
      tokenCount: facts.tokenCount,
      errorCount: facts.errorCount,
      toolCallCount: facts.toolCallCount,
      interventionCount: interventionsOf(record.ladder.counts),
    },
    circuitBreakers: [],
    incident: describeIncident(record, iso),
    handedOver: describeHandOver(record, iso),
    activity: describeActivity(record, iso),
    limit: describeLimit(record, iso),
    findings: record.health.findings.map((finding) => describeFinding(finding, iso)),
    incarnation: record.life.incarnation,
    lineage: record.identity.lineage,
    agentType: record.identity.agentType,
    node: record.identity.node,
    terminal: record.seen.terminal === null ? null : describeTerminal(record, record.seen.terminal, iso, policy),
  };
}

const longestWords = 200;
const inItsWords = (said: string | null): string | null => (said === null ? null : printable(said, longestWords));

/** What its holder sees of its processes is not heard from the agent itself. */
function describeLastHeard(record: AgentRecord, beatAt: MonoMs | null, iso: (at: MonoMs) => string): string | null {
  const { life, seen } = record;
  const { terminal } = seen;
  if (terminal === null) return life.heard ? iso(life.heardAt) : null;
  const toldAt = tellsSteps(terminal) && terminal.output.at > life.bornAt ? terminal.output.at : null;
  const heard = [beatAt, terminal.wroteAt, toldAt].filter((at) => at !== null);
  return heard.length === 0 ? null : iso(Math.max(...heard));
}

function describeHandOver({ ladder: { handedOver, containment } }: AgentRecord, iso: (at: MonoMs) => string) {
  if (handedOver === null) return null;
  const { incident, because, at } = handedOver;
  const contained = containment?.state === "on" ? { contained: containment.how } : {};
  return { incident, because, at: iso(at), ...contained };
}

function describeTerminal(
  record: AgentRecord,
  facts: TerminalFacts,
  iso: (at: MonoMs) => string,
  policy: Policy,
): TerminalReport {
  const { terminal } = policy;
  const idleKill = facts.idleKill ?? (terminal.stopOnIdle ? terminal.idle : null);
  const { pid, family, structured, foreground, attached, holder, outputKept, session, eyes, input } = facts;
  return {
    pid,
    family,
    structured,
    foreground,
    attached,
    holder,
    lastOutput: facts.wroteAt === null ? null : iso(facts.wroteAt),
    ...(tellsSteps(facts) && facts.output.at > record.life.bornAt ? { lastTold: iso(facts.output.at) } : {}),
    outputBytes: facts.bytes,
    outputKept,
    needsYou:
      facts.asks === null || facts.asks.untold === true
        ? null
        : { what: isToldOfLimit(record) ? "limit" : facts.asks.what, since: iso(facts.asks.since) },
    errors: facts.errors.map(({ text, seen }) => {
      const last = seen[seen.length - 1]?.at ?? record.life.bornAt;
      return { text, times: seen.length, last: iso(last) };
    }),
    processes: facts.tree === null ? null : processesOf(facts.tree),
    session,
    completedAt: facts.completedAt === null ? null : iso(facts.completedAt),
    exit: facts.exit === null ? null : { ...facts.exit, at: iso(facts.exit.at) },
    ...leftoversOf(record),
    ...(facts.failedTurn == null ? {} : { failedTurn: facts.failedTurn }),
    restarts: record.recovery.restarts.length,
    ...conversationOf(record),
    idleKillSeconds: idleKill === null ? null : idleKill / 1000,
    ...restartRuleOf(record, policy),
    eyes: [...eyes],
    input,
  };
}

/** The restart rule in force. Where the rule names no maximum number of restarts, the policy's counts. */
function restartRuleOf(record: AgentRecord, policy: Policy): Pick<TerminalReport, "restartRule"> {
  const rule = record.seen.terminal?.restart;
  if (rule === undefined) return {};
  const max = rule.when === "no" ? 0 : restartsAllowed(record, policy);
  return { restartRule: { when: rule.when, max, windowSeconds: policy.restart.window / 1000 } };
}

function leftoversOf(record: AgentRecord): Pick<TerminalReport, "leftovers"> {
  const left = record.seen.terminal?.leftovers ?? null;
  return left === null || !worksOn(record) ? {} : { leftovers: [...left.processes] };
}

function conversationOf({
  recovery: { recovered },
  life: { incarnation },
}: AgentRecord): Pick<TerminalReport, "conversation"> {
  const conversation = recovered?.life === incarnation ? recovered.context.lost.conversation : undefined;
  return conversation === undefined ? {} : { conversation };
}

const isToldOfLimit = ({ seen: { limit } }: AgentRecord): boolean => limit?.told === true && limit.resumedAt === null;

const processesOf = ({ processes, cpuMs, ioBytes, memoryBytes }: TreeFacts) => ({
  processes,
  cpuMs,
  ioBytes,
  memoryBytes,
});

export const describeOver = (over: Over | null, toWall: ToWall): AgentHealth["over"] =>
  over === null ? null : { ...over, at: toIso(toWall(over.at)) };

function describeActivity(record: AgentRecord, iso: (at: MonoMs) => string): ActivityReport {
  const { activity } = record.work;
  const { terminal, limit } = record.seen;
  if (isExited(record)) return { kind: "EXITED", since: iso(terminal?.exit?.at ?? activity.since) };
  const base = { kind: activity.kind, since: iso(activity.since) };
  if (activity.kind === "WAITING") {
    const by =
      terminal !== null && terminal.wait === "provider" && activity.for === "provider" ? terminal.waitBy : null;
    // The program, asked before it is started again, may have named a later reset.
    const end = activity.for === "provider" && isStanding(limit) ? limit.until : activity.until;
    const until = end === null ? {} : { until: iso(end) };
    return { ...base, for: activity.for, ...until, ...(by === null ? {} : { by }) };
  }
  if (activity.kind !== "RUNNING" || activity.open === null) return base;
  const { since: _, ...open } = activity.open;
  return { ...base, open };
}

/** Shows a limit only while it stands and the agent is to go on after it. */
function describeLimit(record: AgentRecord, iso: (at: MonoMs) => string): AgentHealth["limit"] {
  const { health } = record;
  const { limit } = record.seen;
  const { activity } = record.work;
  if (limit === null || limit.resumedAt !== null) return null;
  if (activity.kind === "FINISHED" || health.state === "TERMINATED") return null;
  if (record.seen.terminal?.exit != null && (record.seen.terminal.foreground || runsOnce(record))) return null;
  const { what, named, by, continues, attempts, resetsAt } = limit;
  const seenToAt = limitSeenToAt(record);
  return {
    ...{ what, since: iso(limit.since), until: iso(limit.until) },
    ...(resetsAt === undefined ? {} : { resetsAt: iso(resetsAt) }),
    ...(seenToAt === null ? {} : { seenToAt: iso(seenToAt) }),
    ...{ named, by, continues, attempts },
  };
}

const describeFinding = ({ since, ...finding }: Finding, iso: (at: MonoMs) => string): FindingReport => ({
  ...finding,
  evidence: { ...finding.evidence },
  since: iso(since),
});

/** The clocks and counters a verdict rests on. */
export function describeGrounds(
  record: AgentRecord,
  now: MonoMs,
  policy: Policy,
  doubt: Doubt,
  toWall: ToWall,
): Pick<WhyReport, "clocks" | "beats" | "policy"> {
  const { beats } = record;
  const { facts } = record.seen;
  const { clock: work } = record.work;
  const running = work.resumesAt !== null && work.resumesAt <= now;
  return {
    clocks: {
      silentSeconds: Math.max(0, Math.floor((now - silenceCountsFrom(record, { now, policy, doubt })) / 1000)),
      silenceAllowedSeconds: Math.floor(
        (beatRhythm(record.work.activity, policy).ttl + policy.beatGrace + doubt.lag) / 1000,
      ),
      withoutProgressSeconds:
        facts.progress === null ? null : Math.floor(workedSince(record, facts.progress, now) / 1000),
      progressClock: running ? "running" : "stopped",
      nextLookAt: record.wakeAt === null ? null : toIso(toWall(record.wakeAt)),
    },
    beats: {
      accepted: beats.accepted,
      duplicates: beats.duplicates,
      stale: beats.stale,
      refused: beats.refused,
      lost: beats.lost,
      clockSkewSeconds: beats.skew === null ? null : Math.round(beats.skew / 100) / 10,
    },
    policy: { id: policy.id, mode: policy.mode },
  };
}

/** What would be done about an agent if nothing changed, and through which eyes it is seen. */
export function describeOutlook(
  record: AgentRecord,
  now: MonoMs,
  policy: Policy,
  doubt: Doubt,
  toWall: ToWall,
): Pick<WhyReport, "outlook" | "eyes"> {
  const iso = (at: MonoMs): string => toIso(toWall(at));
  const ended = isOver(record) || record.work.activity.kind === "FINISHED";
  const stage = record.ladder.incident?.stage;
  const decided = stage?.kind === "stopping" && stage.cause === "decided" ? (["order"] as const) : [];
  const evidence: ReadonlySet<EvidenceClass> = new Set([
    ...kindsOfEvidence(record, { now, policy, doubt }),
    ...decided,
  ]);
  const newest = newestFact(record);
  const next = ended || policy.mode === "observe" ? [] : foresee(record, { now, policy, doubt });
  return {
    outlook: {
      quietSeconds: Number.isFinite(newest) && !ended ? Math.max(0, Math.floor((now - newest) / 1000)) : null,
      evidence: [...evidence],
      enough: isEnough(evidence),
      next: next.map(({ what, at }) => ({ what, at: iso(at) })),
    },
    eyes: ended ? [] : eyesOn(record, now).map(({ at, ...seen }) => ({ ...seen, at: at === null ? null : iso(at) })),
  };
}
