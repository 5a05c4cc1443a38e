import type { AgentHealth, EpochMs, EyeReport, WhyReport } from "@rouse/contract";
import { inWords } from "../text/phrases.ts";
import type { Line } from "../text/styled-text.ts";
import { ago, describeSeconds, inTime, stamp } from "../text/tell-time.ts";

/** A pause that nobody would call quiet. */
const worthSaying = 120;

/** "quiet for 20 min; not enough to act; I would ask at 2026-02-05T10:30:07Z (in 12 min)". */
export function describeOutlook({ outlook, agent }: WhyReport, now: EpochMs): Line[] {
  const { quietSeconds, evidence, enough, next } = outlook;
  if (agent.activity.kind === "FINISHED" || agent.terminal?.exit != null) return [];
  const quiet =
    quietSeconds !== null && quietSeconds >= worthSaying ? [`quiet for ${describeSeconds(quietSeconds)}`] : [];
  const against = evidence.length === 0 ? describeUnproven(agent) : describeEvidence(evidence, enough);
  const steps = next.map(({ what, at }) => `${what} at ${stamp(at)} (${inTime(at, now)})`);
  const would = steps.length === 0 ? [] : [`I would ${steps.join(", ")}, if nothing changed`];
  return [[[...quiet, against, ...would].join("; ")]];
}

/** What makes it ill without being evidence for a stop. */
function describeUnproven({ state, stateReason, findings }: AgentHealth): string {
  if (state === "HEALTHY") return "nothing speaks against it";
  const found = findings.filter(({ level }) => level !== "note").map(({ text }) => text);
  return `not enough to act: ${found.length === 0 ? inWords(stateReason) : found.join(" and ")}`;
}

function describeEvidence(evidence: readonly string[], enough: boolean): string {
  if (evidence.length === 1 && evidence[0] === "absence") return "not enough to act: only that nothing is seen";
  const kinds = evidence.map(inWords).join(" and ");
  return enough ? `enough to stop it: ${kinds}` : `not enough to act: ${kinds}`;
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

/** What was looked at and what it showed; what could not be looked at stands at the end. */
export function describeEyes(eyes: readonly EyeReport[], now: EpochMs): Line[] {
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
