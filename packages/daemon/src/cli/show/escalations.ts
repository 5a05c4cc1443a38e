import type {
  DecisionEffect,
  EpochMs,
  EscalationDecision,
  EscalationNotice,
  EscalationReport,
  EscalationResult,
  NudgeResult,
  RemediationHint,
  Severity,
} from "@rouse/contract";
import { drawFacts, drawList, drawSection, type Fact, type ListColumn, orNone } from "../text/draw-table.ts";
import { inWords, sentence, wordIllness } from "../text/phrases.ts";
import { type Line, type Span, type Style, styled, wrapLine } from "../text/styled-text.ts";
import { inTime, stampAhead, stampAndAge } from "../text/tell-time.ts";
import { showEvent } from "./describe-event.ts";
import { describeFinding } from "./health.ts";

const severityStyles: Readonly<Record<Severity, Style>> = { "SEV-1": "red", "SEV-2": "yellow", "SEV-3": "cyan" };

const styledSeverity = (severity: Severity): Span => styled(severityStyles[severity] ?? "bold", severity);

/** `rouse escalations`: what waits for an answer, the most pressing first. */
export function showEscalations(escalations: readonly EscalationReport[], now: EpochMs, width: number): Line[] {
  if (escalations.length === 0) return [["Nothing waits for an answer."]];
  const columns: ListColumn<EscalationReport>[] = [
    ["ID", ({ id }) => id, { least: 10 }],
    ["SEVERITY", ({ severity }) => styledSeverity(severity)],
    ["AGENT", ({ members, agentId }) => (members === undefined ? agentId : `${members.count} agents`), { least: 10 }],
    ["WHY", (one) => `${wordIllness(one)}; ${wordReason(one)}`, { least: 16 }],
    ["ANSWER BY", ({ answerBy }) => inTime(answerBy, now)],
    ["OTHERWISE", ({ otherwise }) => inWords(otherwise), { least: 10 }],
  ];
  const pressingFirst = escalations.toSorted(
    (a, b) => a.severity.localeCompare(b.severity) || Date.parse(a.answerBy) - Date.parse(b.answerBy),
  );
  return drawList(pressingFirst, columns, width);
}

/** Why somebody is asked. */
const wordReason = ({ reason }: Pick<EscalationReport, "reason">): string =>
  reason === "not-supervised" ? "not started by Rouse" : inWords(reason);

/** `rouse escalations show`: one escalation with all that is known, and what to do. */
export function showEscalation(notice: EscalationNotice, now: EpochMs, width: number): Line[] {
  const { context } = notice;
  const { findings, lastEvents, hints, answer } = context;
  return [
    ...wrapLine([styledSeverity(notice.severity), " ", styled("bold", notice.id), ` ${notice.summary}`], width, 2),
    ...drawFacts(describeQuestion(notice, now), width, 2),
    ...drawSection("Findings", orNone(findings.map(describeFinding)), width),
    ...drawSection("What each decision would do", [], width),
    ...drawFacts(describeOptions(notice), width, 2),
    ...drawSection("What may help", hints.flatMap(describeHint), width),
    ...drawSection("Last events", orNone(lastEvents.map(showEvent)), width),
    ...drawSection("To answer", [[answer.command]], width),
  ];
}

function describeQuestion(notice: EscalationNotice, now: EpochMs): (Fact | null)[] {
  const { acknowledged, acknowledgeBy, context } = notice;
  return [
    notice.members === undefined
      ? ["agent", [`${notice.agentId}, incarnation ${notice.incarnation}`]]
      : ["agents", [nameMembers(notice.members)]],
    notice.taskId === null ? null : ["task", [notice.taskId]],
    ["about", [wordIllness(notice)]],
    ["asked", [`${stampAndAge(notice.openedAt, now)}: ${wordReason(notice)}`]],
    ["answer by", [`${stampAhead(notice.answerBy, now)}, otherwise ${inWords(notice.otherwise)}`]],
    acknowledgeBy === null ? null : ["a person by", [stampAhead(acknowledgeBy, now)]],
    acknowledged && ["acknowledged", [`by ${acknowledged.actor}, ${stampAndAge(acknowledged.at, now)}`]],
    ["policy", [`${context.config.policy}, mode ${context.config.settings.mode}`]],
    ["traces", [context.traceIds.join(" · ")]],
  ];
}

function nameMembers({ agents, count }: NonNullable<EscalationReport["members"]>): string {
  const more = count - agents.length;
  return `${agents.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

const effects: Readonly<Record<DecisionEffect, string>> = {
  "waits-longer": "it gets more time",
  "left-alone": "nothing is done: it is not ill",
  "told-and-stopped": "it is told, its work is saved, it is stopped and stays so",
  "told-only": "it is told; Rouse does not stop it",
  "stays-ended": "it has ended and stays so",
  "resumes-after-checkpoint": "its work is saved, it is stopped and goes on after its checkpoint",
  "starts-over": "its work is saved, it is stopped and starts over: there is no checkpoint",
  "handed-to-a-person": "a person has to: Rouse may not or cannot stop it",
};

/** What a decision would lead to now; `undefined` where the daemon does not offer the decision. */
export const effectOf = ({ context }: EscalationNotice, decision: EscalationDecision): DecisionEffect | undefined =>
  context.recovery.options.find((option) => option.decision === decision)?.effect;

/** Effects that are less than the name of the decision promises. */
const fallsShort = new Set<DecisionEffect>(["left-alone", "told-only", "stays-ended", "handed-to-a-person"]);

/** `rouse escalations decide`: says so when less is done than the decision promises. */
export function showDecided(
  id: string,
  decision: EscalationDecision,
  effect: DecisionEffect | undefined,
  width: number,
): Line[] {
  const less = effect !== undefined && fallsShort.has(effect) ? ` ${sentence(effects[effect])}` : "";
  return wrapLine([styled("bold", id), ` is decided: ${inWords(decision)}.${less}`], width, 2);
}

function describeOptions({ context }: EscalationNotice): (Fact | null)[] {
  const { options, checkpoint, recoveriesLeft, restartsLeft, supervised } = context.recovery;
  return [
    ...options.map(({ decision, effect }): Fact => [decision, [effects[effect] ?? inWords(effect)]]),
    ["checkpoint", [describeCheckpoint(checkpoint)]],
    supervised ? ["left", [`${recoveriesLeft} recoveries, ${restartsLeft} restarts`]] : null,
  ];
}

function describeCheckpoint(checkpoint: EscalationNotice["context"]["recovery"]["checkpoint"]): string {
  if (checkpoint === null) return "none";
  const { id, step, stepName } = checkpoint;
  return [id.slice(0, 12), step === null ? "" : `after step ${step}`, stepName].filter(Boolean).join(", ");
}

const describeHint = ({ because, text, command }: RemediationHint): Line[] => [
  [styled("dim", `${inWords(because)}: `), text],
  ["  ", styled("bold", command)],
];

/** `rouse nudge`: whether the message is on its way. What the agent makes of it is told by events. */
export function showNudge({ agentId, state, channel, message, because }: NudgeResult, width: number): Line[] {
  const name = styled("bold", agentId);
  if (state === "not-sent")
    return wrapLine([name, styled("red", ` was not nudged: ${because ?? "there is no way to reach it"}`)], width, 2);
  const way = channel === null ? "" : ` by ${channelNames[channel]}`;
  const told = `${state === "queued" ? "is to be" : "is"} nudged${way} (${state})`;
  return [
    ...wrapLine([name, ` ${told}; \`rouse events -f --agent ${agentId}\` tells what comes of it.`], width, 2),
    ...message.split("\n").flatMap((line) => wrapLine(["  ", styled("dim", line)], width, 4)),
  ];
}

const channelNames = {
  acknowledgement: "the answer to its next heartbeat",
  stdin: "its own input",
  hook: "what its hooks are answered",
  steer: "its program's own way into the turn",
  terminal: "its terminal",
} as const;

export function showAsked({ escalation, severity, answerBy }: EscalationResult, now: EpochMs, width: number): Line[] {
  const until = ` waits for an answer until ${stampAhead(answerBy, now)}.`;
  return [
    ...wrapLine([styledSeverity(severity), " ", styled("bold", escalation), until], width, 2),
    ...wrapLine(["  ", styled("dim", `rouse escalations show ${escalation}`)], width, 4),
  ];
}
