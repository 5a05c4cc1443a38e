import { breakerGuards } from "./breaker-guards.ts";
import { taskGuards } from "./task-guards.ts";

/** One thing that keeps a healthy agent, or a task, from harm, and the edit that takes it away. `find` stands in the file exactly once. */
export interface Guard {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** In which world it is looked for; among held agents when not given. */
  readonly world?: "tasks";
}

const core = "packages/core/src";
const daemon = "packages/daemon/src";

/**
 * The guards that stand closest between an agent and a stop: what is evidence, the kill gate, the ladder, overdue calls, limits, our own doubt. Chosen by
 * hand: not every condition that keeps an agent from harm is here. `npm run guards` takes these out one at a time; docs/simulation.md has what came of it.
 */
export const guards: readonly Guard[] = [
  {
    name: "a stop takes two kinds of evidence",
    file: `${core}/decide/evidence.ts`,
    find: "kinds.size >= 2",
    replace: "kinds.size >= 1",
  },
  {
    name: "absence counts once",
    file: `${core}/decide/evidence.ts`,
    find: 'if (finding.class === "absence") kinds.add("absence");',
    replace: 'if (finding.class === "absence") kinds.add(finding.kind as never);',
  },
  {
    name: "quiet processes are the same absence",
    file: `${core}/decide/evidence.ts`,
    find: 'if (kinds.size > 0 && isAtRest(record, context)) kinds.add("absence");',
    replace: 'if (kinds.size > 0 && isAtRest(record, context)) kinds.add("resource");',
  },
  {
    name: "what our own doubt holds down is no evidence",
    file: `${core}/decide/evidence.ts`,
    find: "  restrainedBy === undefined &&\n",
    replace: "",
  },
  {
    name: "whose processes are at work is not idle",
    file: `${core}/decide/evidence.ts`,
    find: '  evidence["busy"] !== "yes" &&\n',
    replace: "",
  },
  {
    name: "whose other work goes on does not stand still",
    file: `${core}/decide/evidence.ts`,
    find: '  evidence["goesOn"] !== "yes" &&\n',
    replace: "",
  },
  {
    name: "who asks again at a measured pace may be waiting",
    file: `${core}/decide/evidence.ts`,
    find: ' &&\n  evidence["waits"] !== "yes";',
    replace: ";",
  },
  {
    name: "for a repeated error only where its owner said so",
    file: `${core}/decide/evidence.ts`,
    find: '  (kind !== "repeated-error" || policy.terminal.stopOnRepeatedError) &&\n',
    replace: "",
  },
  {
    name: "the idle rule counts only where its owner set it",
    file: `${core}/decide/evidence.ts`,
    find: "return policy.terminal.stopOnIdle || record.seen.terminal?.idleKill != null;",
    replace: "return true;",
  },
  {
    name: "and only after its whole time without any sign of work",
    file: `${core}/decide/evidence.ts`,
    find: ' || evidence["goesOn"] === "yes") return false;',
    replace: ") return false;",
  },
  {
    name: "the rule about missed beats counts only where it is set",
    file: `${core}/decide/evidence.ts`,
    find: "policy.restartOnMissedBeats && beatsByTimer",
    replace: "beatsByTimer",
  },
  {
    name: "and only for one that beats by a timer",
    file: `${core}/decide/evidence.ts`,
    find: "policy.restartOnMissedBeats && beatsByTimer(record) && ",
    replace: "policy.restartOnMissedBeats && ",
  },
  {
    name: "and not while its processes are seen at work",
    file: `${core}/decide/evidence.ts`,
    find: " && !livesOn(record, policy)",
    replace: "",
  },
  {
    name: "nor while a child lives that was started just before its tool was told of",
    file: `${core}/decide/evidence.ts`,
    find: ">= begun - betweenLooks",
    replace: ">= begun",
  },
  {
    name: "nor while the child of another open tool lives",
    file: `${core}/decide/evidence.ts`,
    find: "opened === null || terminal === null ? opened : toolsBegunAt(terminal, opened)",
    replace: "opened",
  },
  {
    name: "only a nudge with the agent's own receipt was read",
    file: `${core}/decide/evidence.ts`,
    find: ' || nudge.state !== "seen" || !nudge.receipt',
    replace: "",
  },
  {
    name: "a nudge is given its time",
    file: `${core}/decide/evidence.ts`,
    find: "now >= nudge.sent.at + policy.nudge.interval + nudge.unseen && ",
    replace: "",
  },
  {
    name: "and not charged for the part of it that we were blind for",
    file: `${core}/decide/evidence.ts`,
    find: " + nudge.unseen",
    replace: "",
  },
  {
    name: "a lost beat may have held the answer",
    file: `${core}/decide/evidence.ts`,
    find: "  if (record.beats.lost > nudge.sent.lost) return false;\n",
    replace: "",
  },
  {
    name: "the gate asks for two kinds, too",
    file: `${core}/decide/kill-gate.ts`,
    find: '  if (!isEnough(kinds)) return lasting("one-kind-of-evidence");\n',
    replace: "",
  },
  {
    name: "who is well again is not stopped",
    file: `${core}/decide/kill-gate.ts`,
    find: '  if (!isIll(record.health.state) && !(ordered && record.health.state === "DEGRADED")) return lasting("well-again");\n',
    replace: "",
  },
  {
    name: "nobody is stopped in a freeze",
    file: `${core}/decide/kill-gate.ts`,
    find: '  if (doubt.frozen) return lasting("frozen");\n',
    replace: "",
  },
  {
    name: "nobody is stopped where the policy only assists",
    file: `${core}/decide/kill-gate.ts`,
    find: '  if (policy.mode !== "act") return lasting("mode");\n',
    replace: "",
  },
  {
    name: "a protected agent is not stopped",
    file: `${core}/decide/kill-gate.ts`,
    find: '  if (policy.protected) return lasting("protected");\n',
    replace: "",
  },
  {
    name: "an agent in a person's terminal is not stopped",
    file: `${core}/decide/kill-gate.ts`,
    find: '  if (terminal?.foreground === true || (terminal?.attached ?? 0) > 0) return lasting("attached");\n',
    replace: "",
  },
  {
    name: "a monitor that doubts its own path stops nobody",
    file: `${core}/decide/kill-gate.ts`,
    find: '  if (doubt.hold !== null) return { because: "monitor-in-doubt", until: now + lookAgainAfter };\n',
    replace: "",
  },
  {
    name: "after a gap every eye reports first",
    file: `${core}/decide/kill-gate.ts`,
    find: "if (gap === null || isSeenSince(record, gap)) return null;",
    replace: "if (gap === null || isSeenSince(record, gap) || gap.to > 0) return null;",
  },
  {
    name: "and a suspicion of silence is no report",
    file: `${core}/decide/kill-gate.ts`,
    find: 'level === "note"',
    replace: 'level !== "unresponsive"',
  },
  {
    name: "and the amnesty has a margin",
    file: `${core}/decide/kill-gate.ts`,
    find: "ttl + policy.amnestyMargin",
    replace: "ttl",
  },
  {
    name: "so many stops in a window",
    file: `${core}/decide/kill-gate.ts`,
    find: "return doubt.brake === null || doubt.brake.until <= now ? null : doubt.brake;",
    replace: "return null;",
  },
  {
    name: "work that could not be saved holds a stop",
    file: `${core}/decide/kill-gate.ts`,
    find: 'return saved.kind === "not-saved" || ',
    replace: "return ",
  },
  {
    name: "an open question is waited for",
    file: `${core}/decide/choose-rung.ts`,
    find: "    if (waiting !== null) return waiting;\n  }\n  if (isWorse)",
    replace: "  }\n  if (isWorse)",
  },
  {
    name: "who is only quiet is kept when nobody answers",
    file: `${core}/decide/ask-orchestrator.ts`,
    find: 'return mayStop && isEnough(kindsOfEvidence(record, context)) ? { kind: "stop" } : { kind: "keep" };',
    replace: 'return { kind: "stop" };',
  },
  {
    name: "who is kept is asked about again",
    file: `${core}/decide/choose-rung.ts`,
    find: 'return { kind: "ask-again", otherwise: unanswered(record, incident, context) };',
    replace: 'return handOver("nobody-answered");',
  },
  {
    name: "a nudge that was not sent is no attempt",
    file: `${core}/intervene/nudge-life.ts`,
    find: "incident: { ...incident, undelivered: incident.undelivered + 1 }",
    replace: "incident: { ...incident, nudges: incident.nudges + 1 }",
  },
  {
    name: "sockets nobody could look at confirm nothing",
    file: `${core}/assess/overdue.ts`,
    find: "tree === null || tree.network === null || runsAsChild(open, terminal, tree)",
    replace: "tree === null || runsAsChild(open, terminal, tree)",
  },
  {
    name: "a child that began with the tool is the tool",
    file: `${core}/assess/overdue.ts`,
    find: " || runsAsChild(open, terminal, tree)) return nothing;",
    replace: ") return nothing;",
  },
  {
    name: "a call is overdue only after its last sign of life",
    file: `${core}/assess/overdue.ts`,
    find: "  const due = movedAt + limit;",
    replace: "  const due = open.since + limit;",
  },
  {
    name: "only quiet processes confirm an overdue call",
    file: `${core}/assess/overdue.ts`,
    find: 'if (stateOfTree(record, policy).kind !== "quiet" || !isLookedAt(tree, due)) return nothing;',
    replace: "if (!isLookedAt(tree, due)) return nothing;",
  },
  {
    name: "a tool is given ten minutes, however little it declared",
    file: `${core}/assess/overdue.ts`,
    find: "Math.max(policy.openTool, open.timeoutSeconds * 1000 + policy.openToolMargin)",
    replace: "open.timeoutSeconds * 1000 + policy.openToolMargin",
  },
  {
    name: "who never told of a tool does not say that it is open",
    file: `${core}/assess/overdue.ts`,
    find: '(open.kind === "model" || terminal.tools.length > 0)',
    replace: "true",
  },
  {
    name: "patience by an agent's own history",
    file: `${core}/accept/work-clock.ts`,
    find: "Math.max(granted, longestQuiet * 1.25)",
    replace: "Math.max(granted, longestQuiet * 0)",
  },
  {
    name: "a silence while nobody else is heard is not counted",
    file: `${core}/assess/missed-beats.ts`,
    find: "  if (doubt.peers < 2) return false;\n",
    replace: "  if (doubt.peers >= 0) return false;\n",
  },
  {
    name: "whatever is drawn, a limit is waited for",
    file: `${core}/accept/read-limit.ts`,
    find: 'if (!isStanding(limit) || limit.told || at >= limit.until || seen.activity.kind === "FINISHED") return;',
    replace: "if (limit !== undefined) return;",
  },
  {
    name: "nobody is started again before its limit is over",
    file: `${core}/limit.ts`,
    find: "  if (!isStanding(limit)) return null;\n",
    replace: "  if (limit !== undefined) return null;\n",
  },
  {
    name: "nobody is started whose program says that its limit stands",
    file: `${daemon}/agents/carry-out-action.ts`,
    find: '  if (quota?.kind === "used-up") return',
    replace: '  if (quota?.kind === "used-up" && agentId === "") return',
  },
  {
    name: "an end at a limit is no crash",
    file: `${core}/limit.ts`,
    find: "return isStanding(limit) && limit.attempts < mostResumes;",
    replace: "return limit === undefined;",
  },
  {
    name: "what we were blind for is not held against anybody",
    file: `${core}/accept/accept-report.ts`,
    find: "return now > knownUntil ? withClock(record, withoutStretch(record.work.clock, knownUntil, now)) : record;",
    replace: "return now > knownUntil ? record : record;",
  },
  {
    name: "a former life's holder says nothing of this life",
    file: `${core}/accept/accept-report.ts`,
    find: "terminal === null || signal.incarnation !== record.life.incarnation || terminal.exit !== null",
    replace: "terminal === null || terminal.exit !== null",
  },
  {
    name: "a beat of our own that failed is doubt",
    file: `${daemon}/engine/canary.ts`,
    find: "if (!parts.repeating.stopped()) self.doubtPath(readClock());",
    replace: "",
  },
  {
    name: "so is one of which nothing is heard",
    file: `${daemon}/engine/judge-due.ts`,
    find: "    if (parts.canaryIsMissing(moment.now)) self.doubtPath(moment);\n",
    replace: "",
  },
  {
    name: "our own beat has passed when it is saved",
    file: `${daemon}/engine/canary.ts`,
    find: "      await commits.saved();\n",
    replace: "",
  },
  {
    name: "our path is trusted again after a whole TTL",
    file: `${daemon}/engine/watch-self.ts`,
    find: "ttl + policy.amnestyMargin",
    replace: "0 * ttl + policy.amnestyMargin",
  },
  ...breakerGuards,
  ...taskGuards.map((guard) => ({ ...guard, world: "tasks" as const })),
];
