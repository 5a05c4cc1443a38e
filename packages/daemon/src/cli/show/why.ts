import type {
  AgentHealth,
  EpochMs,
  EyeReport,
  FindingReport,
  SavedEvent,
  StepReport,
  WhyReport,
} from "@rouse/contract";
import { drawFacts, drawList, drawSection, type Fact, type ListColumn, orNone } from "../text/draw-table.ts";
import { count, inWords, wordIllness } from "../text/phrases.ts";
import { type Line, styled, wrapLine } from "../text/styled-text.ts";
import { ago, describeSeconds, inTime, lasting, stamp, stampAndAge } from "../text/tell-time.ts";
import { heldBackBy, holdWords, showEvent } from "./describe-event.ts";
import { describeDoubt, restraintWords, together } from "./doubt.ts";
import { describeFinding, describeIdentity, describeSince, showTerminal, stateReason, wordsOf } from "./health.ts";
import { styledStanding } from "./standing.ts";

/** `rouse why`: everything behind a verdict, for a person. */
export function showWhy(report: WhyReport, now: EpochMs, width: number): Line[] {
  const { agent, monitor } = report;
  const events = (report.events as readonly SavedEvent[]).toSorted((a, b) => a.id - b.id);
  const doubts = describeDoubt(monitor, now);
  return [
    ...[...verdict(report, now), ...describeOutlook(report, now)].flatMap((line) => wrapLine(line, width, 4)),
    ...showIncident(agent, now, width),
    ...showFleetIncident(report, width),
    ...drawSection("Findings", agent.findings.length === 0 ? [["none"]] : [], width),
    ...agent.findings.flatMap((finding) => explainFinding(finding, now, width)),
    ...showSteps(report.steps, width),
    ...drawSection("Clocks", [], width),
    ...drawFacts([...wordsOf(agent), ...clockFacts(report, now)], width, 2),
    ...(agent.terminal === null
      ? []
      : [...drawSection("Terminal", [], width), ...drawFacts(showTerminal(agent.terminal, now), width, 2)]),
    ...(report.eyes.length === 0 ? [] : drawSection("Looked at", describeEyes(report.eyes, now), width)),
    ...drawSection("Heartbeats", [beatCounts(report)], width),
    ...drawSection("Policy", [[`${report.policy.id}, mode ${report.policy.mode}`]], width),
    ...drawSection("The monitor about itself", doubts.length === 0 ? [["no doubts"]] : doubts, width),
    ...drawSection("Last events", orNone(events.map(showEvent)), width),
  ];
}

/** What is being done about the agent, or since when it is a person's matter. */
function showIncident({ incident, handedOver }: WhyReport["agent"], now: EpochMs, width: number): Line[] {
  if (handedOver !== null) {
    const { at, because, contained } = handedOver;
    const heldBack = contained === undefined ? "" : `; ${heldBackBy[contained]}`;
    const text = `a person's matter since ${stampAndAge(at, now)}: ${inWords(because)}${heldBack}`;
    return drawSection("Incident", [[styled("red", text)]], width);
  }
  if (incident === null) return [];
  const { severity, stage, nextAt, heldBy, openedAt, nudge, nudges, escalation } = incident;
  const next = nextAt === null ? "" : `, next step ${inTime(nextAt, now)}`;
  const times = nudges === 0 ? "" : `nudged ${count(nudges, "time")} for it, `;
  const nudged = nudge === null ? [] : [[`${times}the last words to it by ${nudge.channel}: ${nudge.state}`]];
  const ways = `\`rouse escalations show ${escalation}\`, answered with \`rouse escalations decide ${escalation} …\``;
  const lines = [
    [styled("yellow", `${severity} ${wordIllness(incident)}`), `, for ${lasting(openedAt, now)}`],
    [`${inWords(stage)}${heldBy === undefined ? "" : `, ${holdWords[heldBy]}`}${next}`],
    ...(escalation === null ? [] : [[`asked: ${ways}`]]),
    ...nudged,
  ];
  return drawSection("Incident", lines, width);
}

/** An agent that fell silent or ended with others is part of a fleet incident, and is asked about with them. */
function showFleetIncident({ partOf, monitor }: WhyReport, width: number): Line[] {
  const incident = monitor.fleetIncidents.find(({ id }) => id === partOf);
  if (incident === undefined) return [];
  const { id, because, members, escalation } = incident;
  const asked = escalation === null ? "" : `: \`rouse escalations show ${escalation}\``;
  const [did, are] = together[because];
  const text = `: it ${did} together with others, ${members} are still ${are}; one alert and one question are for all${asked}`;
  return drawSection("Incident", [[styled("yellow", id), text]], width);
}

function verdict({ agent }: WhyReport, now: EpochMs): Line[] {
  const because = agent.findings.find(({ kind }) => kind === agent.stateReason)?.text;
  const { until } = agent.activity;
  return [
    [
      styled("bold", agent.agentId),
      agent.over?.how === "exited" ? " " : " is ",
      styledStanding(agent),
      ` since ${stampAndAge(agent.over?.at ?? agent.stateChangedAt, now)}`,
      ...(agent.over ? stateReason(agent) : [`: ${agent.stateReason}`]),
      ...(because === undefined ? [] : [`, ${because}`]),
    ],
    [
      describeSince(agent, now),
      ...(until === undefined || agent.limit !== null ? [] : [`, until ${inTime(until, now)}`]),
      ` · ${describeIdentity(agent)}`,
    ],
  ];
}

function explainFinding(finding: FindingReport, now: EpochMs, width: number): Line[] {
  const evidence = Object.entries(finding.evidence).map(([name, value]) => `${name} ${value}`);
  const restraint = finding.restrainedBy;
  return [
    ["  ", ...describeFinding(finding)],
    ["    ", styled("dim", `${[finding.class, ...evidence].join(" · ")} · for ${lasting(finding.since, now)}`)],
    ...(restraint === undefined ? [] : [["    held back: ", restraintWords[restraint] ?? restraint]]),
  ].flatMap((line) => wrapLine(line, width, 4));
}

function clockFacts({ clocks }: WhyReport, now: EpochMs): Fact[] {
  const { withoutProgressSeconds: without } = clocks;
  const heard = `${describeSeconds(clocks.silentSeconds)} of ${describeSeconds(clocks.silenceAllowedSeconds)} allowed`;
  const clock = `clock ${clocks.progressClock}`;
  return [
    ["silent", [heard]],
    // An agent reports progress itself: one that only prints has none, and may be at work all the same.
    without === null
      ? ["progress", [`it told of none yet, ${clock}`]]
      : ["without progress", [`${describeSeconds(without)}, ${clock}`]],
    ["next look", [clocks.nextLookAt === null ? "when it is heard" : inTime(clocks.nextLookAt, now)]],
  ];
}

function beatCounts({ beats }: WhyReport): Line {
  const { accepted, duplicates, stale, refused, lost, clockSkewSeconds: skew } = beats;
  const counts = `accepted ${accepted} · duplicates ${duplicates} · stale ${stale} · refused ${refused} · lost ${lost}`;
  return [skew === null ? counts : `${counts} · its clock is ${describeSkew(skew)}`];
}

const describeSkew = (skew: number): string =>
  skew === 0 ? "right" : `${Math.abs(skew)} s ${skew > 0 ? "ahead" : "behind"}`;

const explanation =
  "The same letter is the same again; A~ is A but for numbers, ids and times. Steps marked * are the evidence.";

/** The last steps side by side, when something in them repeats. */
function showSteps(steps: readonly StepReport[], width: number): Line[] {
  if (!steps.some(({ evidence }) => evidence)) return [];
  const table = drawList(steps, stepColumns, width - 2).map((line) => ["  ", ...line]);
  return [...drawSection("Steps", [], width), ...table, ...wrapLine(["  ", styled("dim", explanation)], width, 4)];
}

const stepColumns: readonly ListColumn<StepReport>[] = [
  ["", ({ evidence }) => (evidence ? styled("red", "*") : "")],
  ["EVENT", ({ event }) => String(event)],
  ["TOOL", ({ tool }) => tool ?? "(says)", { least: 10 }],
  ["ARGS", ({ args, tool }) => args ?? (tool === null ? "" : "?")],
  ["RESULT", ({ result }) => result ?? "?"],
  ["FAILED", ({ failed }) => (failed === null ? "?" : failed ? styled("red", "yes") : "no")],
];

/** Seconds of quiet that are worth a word; shorter pauses are ordinary. */
const worthSaying = 120;

/** "quiet for 20 min; not enough to stop it: …; if nothing changes, Rouse will nudge it at … (in 12 min)". */
function describeOutlook({ outlook, agent }: WhyReport, now: EpochMs): Line[] {
  const { quietSeconds, evidence, enough, next } = outlook;
  if (agent.activity.kind === "FINISHED" || agent.terminal?.exit != null) return [];
  const quiet =
    quietSeconds !== null && quietSeconds >= worthSaying ? [`quiet for ${describeSeconds(quietSeconds)}`] : [];
  const against = evidence.length === 0 ? describeUnproven(agent) : describeEvidence(evidence, enough);
  const steps = next.map(({ what, at }) => `${nextSteps[what]} at ${stamp(at)} (${inTime(at, now)})`);
  const then = steps.length === 0 ? [] : [`if nothing changes, Rouse will ${steps.join(", ")}`];
  return [[[...quiet, against, ...then].join("; ")]];
}

const nextSteps: Readonly<Record<WhyReport["outlook"]["next"][number]["what"], string>> = {
  nudge: "nudge it",
  ask: "ask the orchestrator or a person",
  stop: "stop it",
};

/** What was found of an agent without being evidence for a stop. */
function describeUnproven({ state, stateReason, findings }: AgentHealth): string {
  if (state === "HEALTHY") return "nothing was found against it";
  const found = findings.filter(({ level }) => level !== "note").map(({ text }) => text);
  return `not enough to stop it: ${found.length === 0 ? inWords(stateReason) : found.join(" and ")}`;
}

function describeEvidence(evidence: readonly string[], enough: boolean): string {
  if (evidence.length === 1 && evidence[0] === "absence")
    return "not enough to stop it: the only evidence is that nothing is seen of it";
  const kinds = evidence.map(inWords).join(" and ");
  return enough ? `enough to stop it: ${kinds}` : `not enough to stop it: ${kinds}`;
}

const names: Readonly<Record<EyeReport["eye"], string>> = {
  beats: "its beats",
  steps: "its steps",
  output: "its output",
  cpu: "CPU",
  disk: "reads and writes",
  network: "bytes on its sockets",
  files: "files below its folder",
  children: "its children",
  "terminal-read": "waiting in a terminal read",
};

/** What each eye showed; eyes that could not look stand at the end. */
function describeEyes(eyes: readonly EyeReport[], now: EpochMs): Line[] {
  const looked = eyes.filter(({ says }) => says !== "unseen").map((eye) => [`${names[eye.eye]}: ${saysOf(eye, now)}`]);
  const unseen = eyes.filter(({ says }) => says === "unseen").map(({ eye }) => names[eye]);
  return unseen.length === 0 ? looked : [...looked, [`could not be looked at: ${unseen.join(", ")}`]];
}

function saysOf({ eye, says, at }: EyeReport, now: EpochMs): string {
  if (eye === "terminal-read") return says === "at-work" ? "yes" : "no";
  if (eye === "children")
    return says === "at-work" ? `alive${at === null ? "" : `, the youngest started ${ago(at, now)}`}` : "none";
  if (says === "at-work") return at === null ? "at work" : `at work ${ago(at, now)}`;
  return at === null ? "quiet" : `quiet, last ${ago(at, now)}`;
}
